import { type RefObject, useEffect, useRef } from "react"
import { Button } from "../../../ui/Button.tsx"

/** So far from the reader, earlier messages are read. */
const distancePixels = 1_000

interface EarlierButtonProps {
  readonly scrolled: RefObject<HTMLElement | null>
  readonly isLoading: boolean
  readonly onEarlier: () => void
}

/** Reads earlier messages when the reader comes near it, or presses it. */
export const EarlierButton = ({ isLoading, onEarlier, scrolled }: EarlierButtonProps) => {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(onEarlier)
  useEffect(() => {
    latest.current = onEarlier
  })
  useEffect(() => {
    const { current } = place
    const root = scrolled.current
    if (current === null || isLoading) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return
        // At the very beginning, browsers don't keep in view what is read while something comes above it.
        if (root?.scrollTop === 0) root.scrollTop = 1
        latest.current()
      },
      { root, rootMargin: `${distancePixels}px 0px 0px 0px` }
    )
    observer.observe(current)
    return () => observer.disconnect()
  }, [isLoading, scrolled])
  return (
    <div className="text-center [overflow-anchor:none]" ref={place}>
      <Button isPending={isLoading} onClick={onEarlier}>
        Earlier messages
      </Button>
    </div>
  )
}

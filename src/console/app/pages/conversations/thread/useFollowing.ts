import { useCallback, useLayoutEffect, useRef, useState } from "react"

/** So near to the end, the reader follows. */
const nearPixels = 80

/** Keeps the end of what grows in view, unless the reader scrolled up. */
export const useFollowing = () => {
  const scrolled = useRef<HTMLDivElement>(null)
  const isFollowing = useRef(true)
  const [isAtEnd, setIsAtEnd] = useState(true)

  const toEnd = useCallback(() => {
    const { current } = scrolled
    if (current === null) return
    isFollowing.current = true
    current.scrollTop = current.scrollHeight
  }, [])

  const onScroll = useCallback(() => {
    const { current } = scrolled
    if (current === null) return
    isFollowing.current = current.scrollHeight - current.scrollTop - current.clientHeight < nearPixels
    setIsAtEnd(isFollowing.current)
  }, [])

  /** The growing content. */
  const content = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const { current } = content
    if (current === null) return
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) toEnd()
    })
    observer.observe(current)
    return () => observer.disconnect()
  }, [toEnd])

  return { scrolled, content, isAtEnd, onScroll, toEnd }
}

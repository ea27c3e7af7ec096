import { ArrowUp, Square } from "lucide-react"
import { type KeyboardEvent, useLayoutEffect, useRef } from "react"
import { Button } from "../../../ui/Button.tsx"

const questionCharactersMax = 200_000
const heightPixelsMax = 320

interface ComposerProps {
  readonly text: string
  readonly onText: (text: string) => void
  readonly onSend: () => void
  /** While an answer is being made; null: none is. */
  readonly onStop: (() => void) | null
  readonly label?: string
}

/** Where messages are written: Enter sends, Shift+Enter begins a new line. */
export const Composer = ({ label = "Message", onSend, onStop, onText, text }: ComposerProps) => {
  const area = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    const { current } = area
    // What was typed is measured.
    if (current === null || current.value !== text) return
    current.style.height = "auto"
    current.style.height = `${Math.min(heightPixelsMax, current.scrollHeight)}px`
  }, [text])
  const canSend = onStop === null && text.trim() !== ""
  const onKeyDown = (event: KeyboardEvent) => {
    // While characters are being composed, Enter ends that.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (canSend) onSend()
  }
  return (
    <form
      className="flex items-end gap-2 rounded-2xl border border-edge bg-surface p-2 focus-within:outline-2 focus-within:outline-accent"
      onSubmit={(event) => {
        event.preventDefault()
        if (canSend) onSend()
      }}
    >
      <textarea
        aria-label={label}
        className="min-h-10 flex-1 resize-none bg-transparent px-2 py-2 outline-none placeholder:text-muted"
        maxLength={questionCharactersMax}
        onChange={({ target }) => onText(target.value)}
        onKeyDown={onKeyDown}
        placeholder="Ask something"
        ref={area}
        rows={1}
        value={text}
      />
      {onStop === null ? (
        <Button aria-label="Send" disabled={!canSend} kind="primary" type="submit">
          <ArrowUp aria-hidden="true" className="size-4.5" />
        </Button>
      ) : (
        <Button aria-label="Stop" onClick={onStop}>
          <Square aria-hidden="true" className="size-4" fill="currentColor" />
        </Button>
      )}
    </form>
  )
}

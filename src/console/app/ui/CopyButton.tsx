import { Check, Copy } from "lucide-react"
import { useEffect, useState } from "react"
import { Button } from "./Button.tsx"

const shownMilliseconds = 2_000

type Outcome = "copied" | "refused" | null

const labels = { copied: "Copied", refused: "Press Ctrl+C" }

/**
 * Pages that came without TLS from another host have no clipboard; then the text is selected, to be copied by
 * hand.
 */
const copy = async (text: string, source: HTMLElement | null): Promise<Outcome> => {
  try {
    await navigator.clipboard.writeText(text)
    return "copied"
  } catch {
    if (source !== null) getSelection()?.selectAllChildren(source)
    return "refused"
  }
}

interface CopyButtonProps {
  readonly text: string
  /** The name of the copied text, such as "API key", for screen readers. */
  readonly what: string
  /** The id of the element that shows the text. */
  readonly sourceId?: string
  /** Without a frame. */
  readonly isQuiet?: boolean
}

export const CopyButton = ({ isQuiet = false, sourceId, text, what }: CopyButtonProps) => {
  const [outcome, setOutcome] = useState<Outcome>(null)
  useEffect(() => {
    if (outcome === null) return
    const timer = setTimeout(() => setOutcome(null), shownMilliseconds)
    return () => clearTimeout(timer)
  }, [outcome])
  const onClick = async () =>
    setOutcome(
      await copy(text, sourceId === undefined ? null : document.querySelector(`#${CSS.escape(sourceId)}`))
    )
  const Icon = outcome === "copied" ? Check : Copy
  return (
    <Button
      className="shrink-0 whitespace-nowrap"
      kind={isQuiet ? "quiet" : "secondary"}
      onClick={() => void onClick()}
    >
      <Icon aria-hidden="true" className="size-4" />
      <span aria-live="polite">{outcome === null ? "Copy" : labels[outcome]}</span>
      <span className="sr-only"> {what}</span>
    </Button>
  )
}

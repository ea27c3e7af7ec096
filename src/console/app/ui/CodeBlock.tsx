import { useId } from "react"
import { CopyButton } from "./CopyButton.tsx"

interface CodeBlockProps {
  readonly code: string
  /** The name of the code, such as "curl command". */
  readonly label: string
}

/** Code to copy. */
export const CodeBlock = ({ code, label }: CodeBlockProps) => {
  const id = useId()
  return (
    <div className="rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between gap-3 border-b border-line px-4 py-2">
        <span className="text-sm text-muted">{label}</span>
        <CopyButton sourceId={id} text={code} what={label} />
      </div>
      {/* Keyboard users scroll it once it has the focus. */}
      <pre aria-label={label} className="overflow-x-auto p-4 font-mono text-sm" role="region" tabIndex={0}>
        <code id={id}>{code}</code>
      </pre>
    </div>
  )
}

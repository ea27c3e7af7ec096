import DOMPurify from "dompurify"
import { memo, useEffect, useId, useRef } from "react"
import { CopyButton } from "../../../ui/CopyButton.tsx"
import { highlight } from "./highlight.ts"

interface CodeViewProps {
  readonly code: string
  readonly language: string
  /** While the code is still being written, it has no colors. */
  readonly isGrowing: boolean
}

/** A block of code of an answer. */
export const CodeView = memo(({ code, isGrowing, language }: CodeViewProps) => {
  const id = useId()
  const element = useRef<HTMLElement>(null)
  useEffect(() => {
    const { current } = element
    if (current === null) return
    current.textContent = code
    if (isGrowing) return
    let isLeft = false
    const color = async () => {
      const html = await highlight(code, language)
      if (html === null || isLeft) return
      const options = { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true as const }
      current.replaceChildren(DOMPurify.sanitize(html, options))
    }
    // Without colors the code is there all the same.
    void color().catch(() => undefined)
    return () => {
      isLeft = true
    }
  }, [code, isGrowing, language])
  const label = language === "" ? "Code" : language
  return (
    <div className="code-block rounded-lg border border-line bg-sunken">
      <div className="flex items-center justify-between gap-3 border-b border-line py-1 pr-1 pl-4">
        <span className="text-sm text-muted">{label}</span>
        <CopyButton isQuiet sourceId={id} text={code} what="code" />
      </div>
      {/* Keyboard users scroll it once it has the focus. */}
      <pre
        aria-label={`Code: ${label}`}
        className="overflow-x-auto p-4 font-mono text-sm"
        role="region"
        tabIndex={0}
      >
        <code id={id} ref={element} />
      </pre>
    </div>
  )
})

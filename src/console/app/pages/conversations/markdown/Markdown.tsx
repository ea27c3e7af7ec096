import { memo, useLayoutEffect, useMemo, useRef } from "react"
import { makeBlocksOf } from "./blocks.ts"
import { CodeView } from "./CodeView.tsx"
import { fillMath } from "./math.ts"
import { render } from "./render.ts"
import "./markdown.css"

interface HtmlBlockProps {
  readonly html: string
  readonly citable: ReadonlySet<number>
}

const HtmlBlock = memo(({ citable, html }: HtmlBlockProps) => {
  const element = useRef<HTMLDivElement>(null)
  // React can interrupt the making of many blocks, but not their effects.
  const nodes = useMemo(() => [...render(html, citable).childNodes], [citable, html])
  useLayoutEffect(() => {
    const { current } = element
    if (current === null) return
    current.replaceChildren(...nodes)
    void fillMath(current)
  }, [nodes])
  return <div ref={element} />
})

interface MarkdownProps {
  readonly text: string
  /** The numbers that cite something. */
  readonly citable: ReadonlySet<number>
  /** True if more of the text is to come. */
  readonly isGrowing: boolean
}

/**
 * A text of a model, as Markdown. Its markup is text, nothing in it runs, and nothing is loaded from
 * elsewhere.
 */
export const Markdown = memo(({ citable, isGrowing, text }: MarkdownProps) => {
  const blocksOf = useMemo(() => makeBlocksOf(), [])
  const blocks = blocksOf(text)
  return (
    <div className="markdown">
      {blocks.map(({ block, key }, index) =>
        block.kind === "code" ? (
          <CodeView
            code={block.text}
            isGrowing={isGrowing && index === blocks.length - 1}
            key={key}
            language={block.language}
          />
        ) : (
          <HtmlBlock citable={citable} html={block.html} key={key} />
        )
      )}
    </div>
  )
})

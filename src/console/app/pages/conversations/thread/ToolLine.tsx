import { ChevronRight, Globe, LoaderCircle, Search, Wrench } from "lucide-react"
import type { ReactNode } from "react"
import { formatCount } from "../../../text/format.ts"
import type { Piece, Source } from "./pieces.ts"

const labels: Readonly<Record<string, readonly [running: string, done: string]>> = {
  web_search: ["Searching the web…", "Searched the web"],
  web_fetch: ["Reading a page…", "Read a page"],
  calculator: ["Calculating…", "Calculated"],
  current_datetime: ["Looking at the clock…", "Looked at the clock"]
}

/** JSON with line breaks; other text as it is. */
const pretty = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const Shown = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <div>
    <p className="text-xs font-semibold text-muted">{label}</p>
    <pre
      aria-label={label}
      className="mt-1 max-h-72 overflow-auto rounded-lg bg-sunken p-3 font-mono text-xs whitespace-pre-wrap"
      role="region"
      tabIndex={0}
    >
      {text}
    </pre>
  </div>
)

interface QuietLineProps {
  readonly icon: typeof Wrench
  readonly isRunning: boolean
  readonly label: string
  readonly children: ReactNode
}

/** One line, which opens. */
const QuietLine = ({ children, icon: Icon, isRunning, label }: QuietLineProps) => (
  <details className="group text-sm">
    <summary className="inline-flex min-h-8 list-none items-center gap-2 rounded-lg pr-2 text-muted hover:text-ink">
      {isRunning ? (
        <LoaderCircle aria-hidden="true" className="size-4 animate-spin" />
      ) : (
        <Icon aria-hidden="true" className="size-4" />
      )}
      {label}
      <ChevronRight aria-hidden="true" className="size-4 transition-transform group-open:rotate-90" />
    </summary>
    <div className="mt-1 mb-2 space-y-3 border-l-2 border-line pl-4">{children}</div>
  </details>
)

type ToolPiece = Extract<Piece, { readonly kind: "tool" }>

/** A call of a tool: its arguments and its result. */
export const ToolLine = ({ piece }: { readonly piece: ToolPiece }) => {
  const isRunning = piece.result === null
  const [running, done] = labels[piece.name] ?? [`Using ${piece.name}…`, `Used ${piece.name}`]
  return (
    <QuietLine
      icon={piece.name.startsWith("web_") ? Globe : Wrench}
      isRunning={isRunning}
      label={isRunning ? running : piece.hasFailed ? `${done}: it failed` : done}
    >
      {piece.arguments === "" ? null : <Shown label="Arguments" text={pretty(piece.arguments)} />}
      {piece.result === null || piece.result === "" ? null : (
        <Shown label={piece.hasFailed ? "Error" : "Result"} text={pretty(piece.result)} />
      )}
    </QuietLine>
  )
}

export const placeOf = ({ page, section }: Pick<Source, "page" | "section">): string =>
  [...(page === null ? [] : [`page ${page}`]), ...(section === null ? [] : [section])].join(" · ")

interface SearchLineProps {
  readonly piece: Extract<Piece, { readonly kind: "search" }>
  readonly onOpen: (source: Source) => void
}

/** A search of a project's files, and what it found. */
export const SearchLine = ({ onOpen, piece }: SearchLineProps) => {
  const { queries, sources } = piece
  const found = sources?.length ?? 0
  return (
    <QuietLine
      icon={Search}
      isRunning={sources === null}
      label={
        sources === null
          ? "Searching the project's files…"
          : `Searched the project's files: ${found === 0 ? "nothing found" : formatCount(found, "passage")}`
      }
    >
      <p>
        <span className="text-muted">Looked for:</span> {queries.join(" · ")}
      </p>
      <ul className="space-y-1">
        {(sources ?? []).map((source) => (
          <li key={source.number}>
            <button
              className="min-h-8 rounded-lg text-left hover:underline"
              onClick={() => onOpen(source)}
              type="button"
            >
              [{source.number}] {source.filename}
              <span className="text-muted"> {placeOf(source)}</span>
            </button>
          </li>
        ))}
      </ul>
    </QuietLine>
  )
}

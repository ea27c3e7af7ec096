import { useInfiniteQuery } from "@tanstack/react-query"
import { useVirtualizer } from "@tanstack/react-virtual"
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react"
import type { ConversationObject } from "../../../../../api/ConversationObject.ts"
import { Checkbox } from "../../../ui/Checkbox.tsx"
import { ErrorState } from "../../../ui/ErrorState.tsx"
import { Loading } from "../../../ui/Loading.tsx"
import { ProjectSelect } from "../ProjectSelect.tsx"
import { ConversationRow, type Task } from "./ConversationRow.tsx"
import { DeleteDialog } from "./DeleteDialog.tsx"
import { rowsOf } from "./groups.ts"
import { RenameDialog } from "./RenameDialog.tsx"
import { listQuery } from "./requests.ts"
import { rowsOfPages } from "./rows.ts"
import { useSettled } from "./useSettled.ts"

const rowPixels = 40
/** Rows beyond the visible ones. */
const overscan = 12
const searchCharactersMax = 200

interface ConversationListProps {
  readonly openId: string | null
  readonly onChosen: () => void
  /** The project whose conversations are listed; empty for all. */
  readonly projectId: string
  readonly onProject: (id: string) => void
  /** After the open conversation was deleted. */
  readonly onGone: () => void
  /** Said above the list. */
  readonly children?: ReactNode
}

/** The conversations of the user, the last used one first, with a search in titles and messages. */
export const ConversationList = ({
  children,
  onChosen,
  onGone,
  onProject,
  openId,
  projectId
}: ConversationListProps) => {
  const [search, setSearch] = useState("")
  const [isHidden, setIsHidden] = useState(false)
  const [task, setTask] = useState<Task | null>(null)
  const settled = useSettled(search.trim())
  const query = useInfiniteQuery(listQuery(settled, isHidden, projectId))
  const conversations = useMemo(() => rowsOfPages(query.data?.pages ?? []), [query.data])
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="space-y-2 p-3">
        <SearchField onValueChange={setSearch} value={search} />
        <Checkbox
          checked={isHidden}
          label="Those of my API requests"
          name="hidden"
          onCheckedChange={setIsHidden}
        />
        <ProjectSelect
          label="About the project"
          none="Any or none"
          onValueChange={onProject}
          value={projectId}
        />
        {children}
      </div>
      {query.error === null ? null : (
        <div className="p-3">
          <ErrorState failure={query.error} onRetry={() => void query.refetch()} />
        </div>
      )}
      {query.isPending || (conversations.length === 0 && query.hasNextPage) ? <Loading /> : null}
      {query.isSuccess && conversations.length === 0 && !query.hasNextPage ? (
        <p className="px-4 py-2 text-sm text-muted">
          {settled === "" ? "No conversation yet." : "No conversation has these words."}
        </p>
      ) : null}
      <Rows
        conversations={conversations}
        onChosen={onChosen}
        onEnd={() => {
          // A page of a search may have nothing, though there are more.
          if (query.hasNextPage && !query.isFetching && query.error === null) void query.fetchNextPage()
        }}
        onTask={setTask}
        openId={openId}
      />
      {task?.kind === "rename" ? (
        <RenameDialog conversation={task.conversation} onClose={() => setTask(null)} />
      ) : null}
      {task?.kind === "delete" ? (
        <DeleteDialog
          conversation={task.conversation}
          onClose={() => setTask(null)}
          onDeleted={() => {
            setTask(null)
            if (task.conversation.id === openId) onGone()
          }}
        />
      ) : null}
    </div>
  )
}

interface SearchFieldProps {
  readonly value: string
  readonly onValueChange: (value: string) => void
}

const SearchField = ({ onValueChange, value }: SearchFieldProps) => (
  <input
    aria-label="Search conversations"
    className="block min-h-10 w-full rounded-lg border border-edge bg-surface px-3 py-2 text-sm placeholder:text-muted"
    maxLength={searchCharactersMax}
    onChange={({ target }) => onValueChange(target.value)}
    placeholder="Search conversations"
    type="search"
    value={value}
  />
)

interface RowsProps {
  readonly conversations: ReadonlyArray<ConversationObject>
  readonly openId: string | null
  readonly onChosen: () => void
  readonly onEnd: () => void
  readonly onTask: (task: Task) => void
}

/** Only the visible rows are in the page, however many there are. */
const Rows = ({ conversations, onChosen, onEnd, onTask, openId }: RowsProps) => {
  const scrolled = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => rowsOf(conversations, Date.now()), [conversations])
  // oxlint-disable-next-line react/incompatible-library -- what it returns goes to no other component
  const virtualizer = useVirtualizer({
    count: rows.length,
    estimateSize: () => rowPixels,
    getScrollElement: () => scrolled.current,
    overscan
  })
  const visible = virtualizer.getVirtualItems()
  const last = visible.at(-1)?.index ?? 0
  useEffect(() => {
    if (rows.length === 0 || last >= rows.length - overscan) onEnd()
  }, [last, onEnd, rows.length])
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-4" ref={scrolled} tabIndex={-1}>
      <ul className="relative" style={{ height: virtualizer.getTotalSize() }}>
        {visible.map(({ index, size, start }) => {
          const row = rows[index]
          return row === undefined ? null : (
            <li
              className="absolute inset-x-0 top-0"
              key={row.kind === "heading" ? row.text : row.conversation.id}
              style={{ height: size, transform: `translateY(${start}px)` }}
            >
              {row.kind === "heading" ? (
                <h2 className="px-3 pt-4 text-xs font-semibold text-muted">{row.text}</h2>
              ) : (
                <ConversationRow
                  conversation={row.conversation}
                  isOpen={row.conversation.id === openId}
                  onChosen={onChosen}
                  onTask={onTask}
                />
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

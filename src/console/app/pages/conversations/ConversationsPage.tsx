import { Dialog } from "@base-ui/react/dialog"
import { useQuery } from "@tanstack/react-query"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { Schema } from "effect"
import { List, SquarePen, X } from "lucide-react"
import { type ReactNode, useEffect, useState } from "react"
import { ConversationId, ProjectId } from "../../../../domain/Ids.ts"
import { pagePaths } from "../../../PagePaths.ts"
import { requestFailed } from "../../client/RequestFailed.ts"
import { Button, buttonClass } from "../../ui/Button.tsx"
import { backdropClass } from "../../ui/Dialog.tsx"
import { NotFoundPage } from "../NotFoundPage.tsx"
import { projectQuery } from "../projects/requests.ts"
import { ConversationList } from "./list/ConversationList.tsx"
import { readChanged } from "./list/requests.ts"
import { NewConversation } from "./NewConversation.tsx"
import { onChangeInTab } from "./tabs.ts"
import { Thread } from "./thread/Thread.tsx"

const isId = Schema.is(ConversationId)

const isProjectId = Schema.is(ProjectId)

/** True if a project was deleted, or isn't open to the user any more. */
const useGone = (project: string): boolean => {
  const id = isProjectId(project) ? project : null
  const { error } = useQuery({
    ...projectQuery(id as ProjectId),
    enabled: id !== null,
    refetchInterval: false
  })
  if (project === "") return false
  return id === null || (error !== null && goneCodes.has(requestFailed(error).code))
}

const goneCodes: ReadonlySet<string> = new Set(["project_not_found", "not_project_member"])

/** The list beside the open conversation, or beside a new one. */
export const ConversationsPage = () => {
  const { id } = useParams({ strict: false })
  const { project: named = "" } = useSearch({ strict: false })
  const isGone = useGone(named)
  const project = isGone ? "" : named
  const navigate = useNavigate()
  const [isListOpen, setIsListOpen] = useState(false)
  useEffect(() => onChangeInTab((changed) => void readChanged(changed)), [])
  const list = (
    <ConversationList
      onChosen={() => setIsListOpen(false)}
      onGone={() => void navigate({ to: pagePaths.conversations, search: (search) => search })}
      onProject={(chosen) =>
        void navigate({ to: ".", search: chosen === "" ? {} : { project: chosen }, replace: true })
      }
      openId={id ?? null}
      projectId={project}
    >
      {isGone ? (
        <p className="text-sm text-muted">
          The project of this list isn&apos;t open to you any more. These are all your conversations.
        </p>
      ) : null}
    </ConversationList>
  )
  return (
    <div className="flex h-full min-h-0">
      <title>Conversations · Parley</title>
      <div className="hidden w-72 shrink-0 flex-col border-r border-line bg-surface xl:flex">
        <div className="p-3 pb-0">
          <NewLink />
        </div>
        {list}
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <div className="flex items-center justify-between gap-2 border-b border-line px-4 py-2 xl:hidden">
          <Button aria-haspopup="dialog" kind="quiet" onClick={() => setIsListOpen(true)}>
            <List aria-hidden="true" className="size-4.5" />
            List
            <span className="sr-only">of conversations</span>
          </Button>
          <NewLink />
        </div>
        {id === undefined ? <NewConversation about={project} key={project} /> : null}
        {isId(id) ? <Thread id={id} key={id} /> : null}
        {id === undefined || isId(id) ? null : (
          <div className="p-6">
            <NotFoundPage />
          </div>
        )}
      </div>
      {isListOpen ? <ListDrawer onClose={() => setIsListOpen(false)}>{list}</ListDrawer> : null}
    </div>
  )
}

const NewLink = () => (
  <Link
    className={buttonClass("secondary", "w-full max-xl:w-auto")}
    search={(search) => search}
    to={pagePaths.conversations}
  >
    <SquarePen aria-hidden="true" className="size-4" />
    <span>
      New <span className="max-sm:sr-only">conversation</span>
    </span>
  </Link>
)

interface ListDrawerProps {
  readonly onClose: () => void
  readonly children: ReactNode
}

/** The list over the page, where there is no room beside it. */
const ListDrawer = ({ children, onClose }: ListDrawerProps) => (
  <Dialog.Root onOpenChange={onClose} open>
    <Dialog.Portal>
      <Dialog.Backdrop className={backdropClass} />
      <Dialog.Popup
        aria-label="Conversations"
        className="fixed inset-y-0 left-0 flex w-[min(22rem,calc(100vw-2rem))] flex-col bg-surface shadow-raised"
      >
        <div className="flex justify-end p-2 pb-0">
          <Dialog.Close
            aria-label="Close conversations"
            className="rounded-lg p-2 text-muted hover:bg-sunken"
          >
            <X aria-hidden="true" className="size-5" />
          </Dialog.Close>
        </div>
        {children}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)

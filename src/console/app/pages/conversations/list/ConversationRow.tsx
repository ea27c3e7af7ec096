import { Link } from "@tanstack/react-router"
import { memo } from "react"
import type { ConversationObject } from "../../../../../api/ConversationObject.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { classes } from "../../../ui/classes.ts"
import { Menu } from "../../../ui/Menu.tsx"

export const titleOf = ({ title }: Pick<ConversationObject, "title">): string => title ?? "New conversation"

interface ConversationRowProps {
  readonly conversation: ConversationObject
  readonly isOpen: boolean
  readonly onChosen: () => void
  readonly onTask: (task: Task) => void
}

/** A change of a conversation. */
export interface Task {
  readonly kind: "rename" | "delete"
  readonly conversation: ConversationObject
}

/** A conversation in the list, and what can be done with it. */
export const ConversationRow = memo(({ conversation, isOpen, onChosen, onTask }: ConversationRowProps) => {
  const title = titleOf(conversation)
  return (
    <div
      className={classes(
        "group flex h-10 items-center rounded-lg pr-1 hover:bg-sunken",
        isOpen && "bg-accent-soft"
      )}
    >
      <Link
        aria-current={isOpen ? "page" : undefined}
        className="min-w-0 flex-1 truncate rounded-lg px-3 py-2 text-sm"
        onClick={onChosen}
        params={{ id: conversation.id }}
        search={(search) => search}
        title={conversation.match?.text ?? title}
        to={pagePaths.conversation}
      >
        {title}
      </Link>
      <div className="opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-lg:opacity-100">
        <Menu
          items={[
            { label: "Rename…", onSelect: () => onTask({ kind: "rename", conversation }) },
            { label: "Delete…", onSelect: () => onTask({ kind: "delete", conversation }), isDangerous: true }
          ]}
          label={`Actions for ${title}`}
        />
      </div>
    </div>
  )
})

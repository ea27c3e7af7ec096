import { useInfiniteQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useDeferredValue, useEffect, useMemo, useRef } from "react"
import type { ConversationDetail, ConversationTurn } from "../../../../../api/ConversationObject.ts"
import type { ConversationId } from "../../../../../domain/Ids.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"
import { pagePaths } from "../../../../PagePaths.ts"
import { Alert } from "../../../ui/Alert.tsx"
import { buttonClass } from "../../../ui/Button.tsx"
import { ErrorState } from "../../../ui/ErrorState.tsx"
import { Loading } from "../../../ui/Loading.tsx"
import { useUploads } from "../../../uploads/useUploads.ts"
import { asked, editingOf, withoutAnswer } from "./draft.ts"
import { attachmentsOf } from "./messageInput.ts"
import { inputOf, questionOfInput } from "./question.ts"
import { conversationQuery, isGone } from "./requests.ts"
import { ThreadBody } from "./ThreadBody.tsx"
import type { Unsent } from "./unsentQuestions.ts"
import { type Answering, useAnswering } from "./useAnswering.ts"
import { useBeginning } from "./useBeginning.ts"
import { useButtons } from "./useButtons.ts"
import { useDraft } from "./useDraft.ts"

/** One conversation: its turns, the answer that is being made, and where to write. */
export const Thread = ({ id }: { readonly id: ConversationId }) => {
  const query = useInfiniteQuery(conversationQuery(id))
  const detail = query.data?.pages[0]
  const turns = useMemo(
    () => query.data?.pages.toReversed().flatMap((page) => page.turns.data) ?? [],
    [query.data]
  )
  // It may have been deleted in another tab.
  const isRefused = query.error !== null && (detail === undefined || isGone(query.error))
  return (
    <>
      {/* Gets the focus when the conversation is opened. */}
      <h1 className="sr-only" tabIndex={-1}>
        {detail?.title ?? "Conversation"}
      </h1>
      {isRefused ? (
        <div className="p-6">
          {isGone(query.error) ? (
            <GoneNote />
          ) : (
            <ErrorState failure={query.error} onRetry={() => void query.refetch()} />
          )}
        </div>
      ) : null}
      {query.isPending ? <Loading /> : null}
      {detail === undefined || isRefused ? null : (
        <OpenThread
          detail={detail}
          hasEarlier={query.hasNextPage}
          id={id}
          isLoadingEarlier={query.isFetchingNextPage}
          onEarlier={() => void query.fetchNextPage()}
          turns={turns}
        />
      )}
    </>
  )
}

const GoneNote = () => (
  <Alert tone="neutral">
    <p>This conversation was deleted, or never was one of yours.</p>
    <Link className={buttonClass("secondary", "mt-3")} to={pagePaths.conversations}>
      New conversation
    </Link>
  </Alert>
)

interface OpenThreadProps {
  readonly id: ConversationId
  readonly detail: ConversationDetail
  readonly turns: ReadonlyArray<ConversationTurn>
  readonly hasEarlier: boolean
  readonly isLoadingEarlier: boolean
  readonly onEarlier: () => void
}

/** So many turns are shown at once; those before them follow while the page already reacts. */
const turnsAtOnce = 3

/** The answer that is followed, until its turn is there: it never leaves the page. */
const useUnstored = (
  turns: ReadonlyArray<ConversationTurn>,
  followed: Answering | null,
  end: () => void
): Answering | null => {
  const isStored = followed?.answer.isComplete === true && turns.some(({ id }) => id === followed.answer.id)
  useEffect(() => {
    if (isStored) end()
  }, [end, isStored])
  return isStored ? null : followed
}

const OpenThread = ({ detail, id, turns, ...earlier }: OpenThreadProps) => {
  const { answering: followed, ask, end, failure, follow, forget, stop } = useAnswering(id)
  const { change, clear, draft, edit } = useDraft(id)
  const attached = useUploads(`message-${id}`, null)
  const rendered = useDeferredValue(turns, turns.slice(-turnsAtOnce))
  const answering = useUnstored(rendered, followed, end)
  const isAnswering = answering !== null && !answering.answer.isComplete
  const last = turns.at(-1)
  const area = useRef<HTMLTextAreaElement>(null)
  const { onStop, ...buttons } = useButtons({ area, ask, clear, edit, id, last, stop })

  /** A refused question can be sent again. */
  const send = async (question: Asked, unsent?: Unsent) => {
    const refused = await ask(question, unsent)
    if (refused === null) return
    // It becomes a message of its own only now that the user has read why.
    const replaces = refused.code === "response_not_last" ? undefined : question.replaces
    edit({ ...questionOfInput(question.input), replaces, again: question.again })
  }
  useBeginning(id, detail, isAnswering, { ask: (unsent) => void send(unsent.question, unsent), follow })

  const onSend = () => {
    const attachments = [...draft.attachments, ...attachmentsOf(attached.uploads)]
    void send(asked(inputOf({ text: draft.text.trim(), attachments }), draft))
    clear()
    attached.list.clearDone()
  }
  const shown = useMemo(
    () => rendered.filter((turn) => turn.id !== answering?.replaces),
    [answering?.replaces, rendered]
  )
  return (
    <ThreadBody
      answering={answering}
      attached={attached}
      area={area}
      draft={draft}
      editing={editingOf(draft, last)}
      failure={failure}
      instructions={detail.instructions}
      key={id}
      onDraft={(changes) => {
        forget()
        change(changes)
      }}
      onSend={onSend}
      onStop={isAnswering ? onStop : null}
      projectId={detail.project_id}
      turns={shown}
      unanswered={withoutAnswer(detail, answering)}
      {...buttons}
      {...earlier}
      hasEarlier={earlier.hasEarlier && rendered === turns}
    />
  )
}

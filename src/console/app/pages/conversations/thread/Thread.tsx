import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback, useDeferredValue, useEffect, useMemo, useState } from "react"
import type {
  ConversationDetail,
  ConversationTurn,
  UnansweredQuestion
} from "../../../../../api/ConversationObject.ts"
import type { ConversationId } from "../../../../../domain/Ids.ts"
import type { Question as Asked } from "../../../../AnswersApi.ts"
import { queries } from "../../../client/queries.ts"
import { ErrorState } from "../../../ui/ErrorState.tsx"
import { Loading } from "../../../ui/Loading.tsx"
import { useUploads } from "../../../uploads/useUploads.ts"
import { asked, askedAgain, draftOf, editingOf, inputOfUnanswered, noDraft, withoutAnswer } from "./draft.ts"
import { attachmentsOf } from "./messageInput.ts"
import { inputOf, questionOfInput, questionOfTurn } from "./question.ts"
import { conversationKey, conversationQuery, discardQuestion, isGone } from "./requests.ts"
import { ThreadBody } from "./ThreadBody.tsx"
import type { Unsent } from "./unsentQuestions.ts"
import { type Answering, useAnswering } from "./useAnswering.ts"
import { useBeginning } from "./useBeginning.ts"

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
          <ErrorState failure={query.error} onRetry={() => void query.refetch()} />
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

const discard = async (id: ConversationId, { response_id }: UnansweredQuestion) => {
  await discardQuestion(id, response_id)
  await queries.invalidateQueries({ queryKey: conversationKey(id) })
}

const OpenThread = ({ detail, id, turns, ...earlier }: OpenThreadProps) => {
  const { answering: followed, ask, end, failure, follow, forget, stop } = useAnswering(id)
  const [draft, setDraft] = useState(noDraft)
  const attached = useUploads(`message-${id}`)
  const rendered = useDeferredValue(turns, turns.slice(-turnsAtOnce))
  const answering = useUnstored(rendered, followed, end)
  const isAnswering = answering !== null && !answering.answer.isComplete

  /** What is refused can be sent again. */
  const send = async (question: Asked, unsent?: Unsent) => {
    setDraft(noDraft)
    const refused = await ask(question, unsent)
    if (refused === null) return
    // It becomes a message of its own only now that the user has read why.
    const replaces = refused.code === "response_not_last" ? undefined : question.replaces
    const { again, input } = question
    setDraft((now) => (now.text === "" ? { ...questionOfInput(input), replaces, again } : now))
  }
  useBeginning(id, detail, isAnswering, { ask: (unsent) => void send(unsent.question, unsent), follow })

  const onSend = () => {
    const attachments = [...draft.attachments, ...attachmentsOf(attached.uploads)]
    void send(asked(inputOf({ text: draft.text.trim(), attachments }), draft))
    attached.list.clearDone()
  }
  const onRetry = useCallback(
    (turn: ConversationTurn) => void ask(asked(inputOf(questionOfTurn(turn)), { replaces: turn.id })),
    [ask]
  )
  const onEdit = useCallback((turn: ConversationTurn) => {
    setDraft({ ...questionOfTurn(turn), replaces: turn.id })
  }, [])
  const shown = useMemo(
    () => rendered.filter((turn) => turn.id !== answering?.replaces),
    [answering?.replaces, rendered]
  )
  return (
    <ThreadBody
      answering={answering}
      attached={attached}
      draft={draft.text}
      editing={editingOf(draft, turns.at(-1))}
      failure={failure}
      instructions={detail.instructions}
      key={id}
      onAgain={(question) => void ask(asked(inputOfUnanswered(question), askedAgain(question, turns.at(-1))))}
      onCancelEdit={() => setDraft(noDraft)}
      onDiscard={(question) => void discard(id, question)}
      onDraft={(text) => {
        forget()
        setDraft({ ...draft, text })
      }}
      onEdit={onEdit}
      onEditUnanswered={(question) => setDraft(draftOf(question, turns.at(-1)))}
      onRetry={onRetry}
      onSend={onSend}
      onStop={isAnswering ? () => void stop() : null}
      projectId={detail.project_id}
      turns={shown}
      unanswered={withoutAnswer(detail, answering)}
      {...earlier}
      hasEarlier={earlier.hasEarlier && rendered === turns}
    />
  )
}

import { ArrowDown } from "lucide-react"
import { Fragment, type RefObject, useState } from "react"
import type { ConversationTurn, UnansweredQuestion } from "../../../../../api/ConversationObject.ts"
import type { ProjectId } from "../../../../../domain/Ids.ts"
import { Button } from "../../../ui/Button.tsx"
import { ErrorState } from "../../../ui/ErrorState.tsx"
import type { Uploads } from "../../../uploads/useUploads.ts"
import { AllowanceNote } from "./AllowanceNote.tsx"
import { AnsweringView } from "./AnsweringView.tsx"
import { Composer } from "./Composer.tsx"
import { EarlierButton } from "./EarlierButton.tsx"
import type { Source } from "./pieces.ts"
import { ProjectNote } from "./ProjectNote.tsx"
import type { Question } from "./question.ts"
import { RequestDialog } from "./RequestDialog.tsx"
import { SourceDialog } from "./SourceDialog.tsx"
import { TurnView } from "./TurnView.tsx"
import { UnansweredView } from "./UnansweredView.tsx"
import type { Answering } from "./useAnswering.ts"
import { useFollowing } from "./useFollowing.ts"

interface ThreadBodyProps {
  readonly projectId: ProjectId | null
  readonly instructions: string | null
  readonly turns: ReadonlyArray<ConversationTurn>
  readonly answering: Answering | null
  /** Oldest first. */
  readonly unanswered: ReadonlyArray<UnansweredQuestion>
  /** Why the last question was refused. */
  readonly failure: Error | null
  readonly draft: Question
  /** The field for the message. */
  readonly area: RefObject<HTMLTextAreaElement | null>
  readonly attached: Uploads
  /**
   * The turn that what is typed is to replace: null for none, `earlier` for one that isn't the last any more.
   * `unanswered`: a question without an answer.
   */
  readonly editing: "last" | "earlier" | "unanswered" | null
  readonly hasEarlier: boolean
  readonly isLoadingEarlier: boolean
  readonly onEarlier: () => void
  readonly onDraft: (changes: Partial<Question>) => void
  readonly onSend: () => void
  /** Null while no answer is being made. */
  readonly onStop: (() => void) | null
  readonly onCancelEdit: () => void
  readonly onRetry: (turn: ConversationTurn) => void
  readonly onEdit: (turn: ConversationTurn) => void
  readonly onAgain: (question: UnansweredQuestion) => void
  readonly onEditUnanswered: (question: UnansweredQuestion) => void
  readonly onDiscard: (question: UnansweredQuestion) => void
}

export const ThreadBody = (props: ThreadBodyProps) => {
  const { answering, instructions, turns } = props
  const { content, isAtEnd, onScroll, scrolled, toEnd } = useFollowing()
  const [source, setSource] = useState<Source | null>(null)
  const [request, setRequest] = useState<Question | null>(null)
  return (
    <>
      <div className="min-h-0 flex-1 overflow-y-auto" onScroll={onScroll} ref={scrolled} tabIndex={-1}>
        <div className="mx-auto max-w-3xl space-y-8 px-4 py-6 sm:px-6" ref={content}>
          {props.hasEarlier ? (
            <EarlierButton
              isLoading={props.isLoadingEarlier}
              onEarlier={props.onEarlier}
              scrolled={scrolled}
            />
          ) : null}
          <ProjectNote id={props.projectId} turns={turns} />
          {instructions === null ? null : <Instructions text={instructions} />}
          {turns.map((turn, index) => (
            <Fragment key={turn.id}>
              <UnansweredAt {...props} index={index} />
              <TurnView
                isLast={answering === null && index === turns.length - 1}
                onEdit={props.onEdit}
                onOpen={setSource}
                onRequest={setRequest}
                onRetry={props.onRetry}
                turn={turn}
              />
            </Fragment>
          ))}
          <UnansweredAt {...props} index={turns.length} />
          {answering === null ? null : <AnsweringView answering={answering} onOpen={setSource} />}
        </div>
      </div>
      <Writing {...props} isAtEnd={isAtEnd} toEnd={toEnd} />
      {source === null ? null : (
        <SourceDialog onClose={() => setSource(null)} projectId={props.projectId} source={source} />
      )}
      {request === null ? null : (
        <RequestDialog
          onClose={() => setRequest(null)}
          request={{ instructions, projectId: props.projectId, question: request }}
        />
      )}
    </>
  )
}

type UnansweredAtProps = Pick<
  ThreadBodyProps,
  "hasEarlier" | "onAgain" | "onDiscard" | "onEditUnanswered" | "turns" | "unanswered"
> & {
  readonly index: number
}

/**
 * The questions that were asked before the turn of an index, and after the one before it, and got no answer.
 */
const UnansweredAt = ({ hasEarlier, index, turns, unanswered, ...on }: UnansweredAtProps) => {
  // Questions before the shown turns come with the turns around them.
  const from = turns[index - 1]?.created_at ?? (hasEarlier ? Number.POSITIVE_INFINITY : 0)
  const until = turns[index]?.created_at ?? Number.POSITIVE_INFINITY
  return unanswered
    .filter(({ created_at: time }) => time >= from && time < until)
    .map((question) => (
      <UnansweredView
        key={question.response_id}
        onAgain={() => on.onAgain(question)}
        onDiscard={() => on.onDiscard(question)}
        onEdit={() => on.onEditUnanswered(question)}
        replacesLast={question.replaces !== null && question.replaces === turns.at(-1)?.id}
        unanswered={question}
      />
    ))
}

const Instructions = ({ text }: { readonly text: string }) => (
  <details className="text-sm text-muted">
    <summary className="min-h-8">Instructions of this conversation</summary>
    <p className="mt-1 whitespace-pre-wrap">{text}</p>
  </details>
)

interface WritingProps extends ThreadBodyProps {
  readonly isAtEnd: boolean
  readonly toEnd: () => void
}

const editingNotes = {
  last: "Once this message is answered, it replaces your last one and its answer, which stay until then.",
  earlier: "The conversation has gone on: the message that you edit isn't the last one any more.",
  unanswered: "You change a question that has no answer. It is asked at the end of the conversation."
}

/** The field for the next message, below the turns. */
const Writing = (props: WritingProps) => (
  <div className="relative mx-auto w-full max-w-3xl space-y-2 px-4 pb-4 sm:px-6">
    {props.isAtEnd ? null : (
      <Button
        aria-label="To the end"
        className="absolute -top-12 left-1/2 -translate-x-1/2 rounded-full bg-surface px-2"
        onClick={props.toEnd}
      >
        <ArrowDown aria-hidden="true" className="size-4.5" />
      </Button>
    )}
    {props.failure === null ? null : <ErrorState failure={props.failure} />}
    {props.editing === null ? null : (
      <p className="flex items-center justify-between text-sm text-muted">
        {editingNotes[props.editing]}
        <Button kind="quiet" onClick={props.onCancelEdit}>
          Cancel
        </Button>
      </p>
    )}
    <Composer
      area={props.area}
      attached={props.attached}
      kept={props.draft.attachments}
      onKept={(attachments) => props.onDraft({ attachments })}
      onSend={() => {
        props.toEnd()
        props.onSend()
      }}
      onStop={props.onStop}
      onText={(text) => props.onDraft({ text })}
      text={props.draft.text}
    />
    <AllowanceNote />
  </div>
)

import { ArrowDown } from "lucide-react"
import { useState } from "react"
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
  readonly unanswered: UnansweredQuestion | null
  /** Why the last question was refused. */
  readonly failure: Error | null
  readonly draft: string
  readonly attached: Uploads
  /** The turn that what is typed is to replace: null for none, `earlier` for one that isn't the last any more. */
  readonly editing: "last" | "earlier" | null
  readonly hasEarlier: boolean
  readonly isLoadingEarlier: boolean
  readonly onEarlier: () => void
  readonly onDraft: (text: string) => void
  readonly onSend: () => void
  /** Null while no answer is being made. */
  readonly onStop: (() => void) | null
  readonly onCancelEdit: () => void
  readonly onRetry: (turn: ConversationTurn) => void
  readonly onEdit: (turn: ConversationTurn) => void
  readonly onAgain: (question: UnansweredQuestion) => void
  readonly onEditUnanswered: (question: UnansweredQuestion) => void
  readonly onDiscard: () => void
}

export const ThreadBody = (props: ThreadBodyProps) => {
  const { answering, instructions, turns, unanswered } = props
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
          {props.projectId === null ? null : <ProjectNote id={props.projectId} />}
          {instructions === null ? null : <Instructions text={instructions} />}
          {turns.map((turn, index) => (
            <TurnView
              isLast={answering === null && index === turns.length - 1}
              key={turn.id}
              onEdit={props.onEdit}
              onOpen={setSource}
              onRequest={setRequest}
              onRetry={props.onRetry}
              turn={turn}
            />
          ))}
          {answering === null ? null : <AnsweringView answering={answering} onOpen={setSource} />}
          {unanswered === null ? null : (
            <UnansweredView
              onAgain={() => props.onAgain(unanswered)}
              onDiscard={props.onDiscard}
              onEdit={() => props.onEditUnanswered(unanswered)}
              unanswered={unanswered}
            />
          )}
        </div>
      </div>
      <Writing {...props} isAtEnd={isAtEnd} toEnd={toEnd} />
      {source === null ? null : (
        <SourceDialog onClose={() => setSource(null)} projectId={props.projectId} source={source} />
      )}
      {request === null ? null : (
        <RequestDialog instructions={instructions} onClose={() => setRequest(null)} question={request.text} />
      )}
    </>
  )
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
  last: "Once this message is answered, it replaces your last one and its answer, which stay until then. Its files stay.",
  earlier: "The conversation has gone on: the message that you edit isn't the last one any more."
}

/** Where the next message is written, below the turns. */
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
      attached={props.attached}
      onSend={() => {
        props.toEnd()
        props.onSend()
      }}
      onStop={props.onStop}
      onText={props.onDraft}
      text={props.draft}
    />
    <AllowanceNote />
  </div>
)

import { useMutation } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { pagePaths } from "../../../PagePaths.ts"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { useUploads } from "../../uploads/useUploads.ts"
import { create, refreshList } from "./list/requests.ts"
import { ProjectSelect } from "./ProjectSelect.tsx"
import { AllowanceNote } from "./thread/AllowanceNote.tsx"
import { Composer } from "./thread/Composer.tsx"
import { attachmentsOf } from "./thread/messageInput.ts"
import { inputOf } from "./thread/question.ts"
import { keepUnsent } from "./thread/unsentQuestions.ts"
import { useDraft } from "./thread/useDraft.ts"

const instructionsCharactersMax = 20_000

/**
 * A first message, with or without instructions. `about`: the id of the project that is chosen at first, or
 * nothing.
 */
export const NewConversation = ({ about }: { readonly about: string }) => {
  // Kept until the conversation is created, also when the page is loaded again.
  const { change, clear, draft } = useDraft("new")
  const { text } = draft
  const attached = useUploads("message", null)
  const [instructions, setInstructions] = useState("")
  const [project, setProject] = useState(about)
  const navigate = useNavigate()
  const creating = useMutation({
    mutationFn: () => create(instructions.trim(), project),
    onSuccess: ({ id }) => {
      keepUnsent(id, {
        input: inputOf({ text: text.trim(), attachments: attachmentsOf(attached.uploads) })
      })
      clear()
      attached.list.clearDone()
      void refreshList()
      void navigate({ to: pagePaths.conversation, params: { id }, search: (search) => search })
    }
  })
  return (
    <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col justify-center gap-4 overflow-y-auto px-4 py-6 sm:px-6">
      <h1 className="text-center text-2xl font-semibold tracking-tight focus:outline-none" tabIndex={-1}>
        What would you like to know?
      </h1>
      <Composer
        attached={attached}
        onSend={() => creating.mutate()}
        onStop={creating.isPending ? () => undefined : null}
        onText={(typed) => change({ text: typed })}
        text={text}
      />
      {creating.error === null ? null : <ErrorState failure={creating.error} />}
      <ProjectSelect
        label="Search the files of"
        none="No project"
        onValueChange={setProject}
        value={project}
      />
      <details className="text-sm">
        <summary className="min-h-8 text-muted">Instructions for this conversation</summary>
        <textarea
          aria-label="Instructions"
          className="mt-2 block min-h-24 w-full rounded-lg border border-edge bg-surface px-3 py-2"
          maxLength={instructionsCharactersMax}
          onChange={({ target }) => setInstructions(target.value)}
          placeholder="Such as: Answer briefly, and in French."
          value={instructions}
        />
      </details>
      <AllowanceNote />
    </div>
  )
}

import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { FileText, Image } from "lucide-react"
import { memo, useState } from "react"
import type { FileId } from "../../../../../domain/Ids.ts"
import { serviceUrl } from "../../../client/connection.ts"
import { DocumentDialog } from "../../documents/DocumentDialog.tsx"
import { attachedFileQuery, idOf, useAttachmentName } from "./attachmentNames.ts"
import type { Attachment, Question } from "./question.ts"

const line = "flex items-center gap-2 text-sm text-muted"

/** A file of a question, by its name; it opens what the model sees of it. */
const AttachedFile = ({ id }: { readonly id: FileId }) => {
  const [isOpen, setIsOpen] = useState(false)
  const { data: file, error } = useQuery(attachedFileQuery(id))
  return (
    <p className={line}>
      <FileText aria-hidden="true" className="size-4 shrink-0" />
      {file === undefined ? (
        <span>{error === null ? "File" : "A file that is no longer there"}</span>
      ) : (
        <button
          aria-label={`What the model sees of ${file.filename}`}
          className="min-w-0 truncate underline underline-offset-2"
          onClick={() => setIsOpen(true)}
          type="button"
        >
          {file.filename}
        </button>
      )}
      {isOpen && file !== undefined ? (
        <DocumentDialog
          document={{ fileId: id, filename: file.filename, projectId: null }}
          onClose={() => setIsOpen(false)}
        />
      ) : null}
    </p>
  )
}

const AttachedImage = ({ attachment }: { readonly attachment: Attachment }) => {
  const { id } = useParams({ strict: false })
  const name = useAttachmentName(attachment)
  return "image_id" in attachment && id !== undefined ? (
    <img
      alt="Attached by you"
      className="max-h-64 max-w-full rounded-lg"
      src={`${serviceUrl()}/console/conversations/${id}/images/${attachment.image_id}`}
    />
  ) : (
    <p className={line}>
      <Image aria-hidden="true" className="size-4 shrink-0" />
      <bdi className="min-w-0 truncate">{name}</bdi>
    </p>
  )
}

/** The user's question, as it was typed, with its files. */
export const QuestionView = memo(({ question }: { readonly question: Question }) => (
  <div className="ml-auto w-fit max-w-[85%] space-y-2 rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5">
    <span className="sr-only">You asked:</span>
    {[...new Map(question.attachments.map((attachment) => [idOf(attachment), attachment]))].map(
      ([id, attachment]) =>
        attachment.type === "input_file" ? (
          <AttachedFile id={attachment.file_id} key={id} />
        ) : (
          <AttachedImage attachment={attachment} key={id} />
        )
    )}
    {question.text === "" ? null : <p className="whitespace-pre-wrap">{question.text}</p>}
  </div>
))

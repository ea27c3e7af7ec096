import { FileText, Image } from "lucide-react"
import { memo } from "react"
import { formatCount } from "../../../text/format.ts"
import type { Question } from "./question.ts"

/** What the user asked, as it was typed. */
export const QuestionView = memo(({ question }: { readonly question: Question }) => (
  <div className="ml-auto w-fit max-w-[85%] space-y-2 rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5">
    <span className="sr-only">You asked:</span>
    {question.files.length === 0 ? null : (
      <p className="flex items-center gap-2 text-sm text-muted">
        <FileText aria-hidden="true" className="size-4" />
        {formatCount(question.files.length, "file")}
      </p>
    )}
    {question.images === 0 ? null : (
      <p className="flex items-center gap-2 text-sm text-muted">
        <Image aria-hidden="true" className="size-4" />
        {formatCount(question.images, "image")}
      </p>
    )}
    {question.text === "" ? null : <p className="whitespace-pre-wrap">{question.text}</p>}
  </div>
))

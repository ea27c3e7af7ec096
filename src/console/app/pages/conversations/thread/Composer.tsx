import { ArrowUp, Paperclip, Square } from "lucide-react"
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef } from "react"
import { Button } from "../../../ui/Button.tsx"
import { DropArea } from "../../../uploads/DropArea.tsx"
import { FilePicker } from "../../../uploads/FilePicker.tsx"
import type { Uploads } from "../../../uploads/useUploads.ts"
import { Attachments } from "./Attachments.tsx"
import { KeptFiles } from "./KeptFiles.tsx"
import { areUnfinished } from "./messageInput.ts"
import type { Attachment } from "./question.ts"

const questionCharactersMax = 200_000
const heightPixelsMax = 320

const noFiles: ReadonlyArray<Attachment> = []

interface ComposerProps {
  readonly text: string
  readonly onText: (text: string) => void
  readonly onSend: () => void
  /** While an answer is being made; null: none is. */
  readonly onStop: (() => void) | null
  readonly label?: string
  /** The files of the message. */
  readonly attached: Uploads
  /** Attachments that the message had before it is edited. */
  readonly kept?: ReadonlyArray<Attachment>
  readonly onKept?: (files: ReadonlyArray<Attachment>) => void
  readonly area?: RefObject<HTMLTextAreaElement | null>
}

/** The field for messages: Enter sends, Shift+Enter begins a new line. */
export const Composer = ({
  area: givenArea,
  attached,
  kept = noFiles,
  label = "Message",
  onKept,
  onSend,
  onStop,
  onText,
  text
}: ComposerProps) => {
  const ownArea = useRef<HTMLTextAreaElement>(null)
  const area = givenArea ?? ownArea
  useLayoutEffect(() => {
    const { current } = area
    // The height is that of the typed text.
    if (current === null || current.value !== text) return
    current.style.height = "auto"
    current.style.height = `${Math.min(heightPixelsMax, current.scrollHeight)}px`
  }, [area, text])
  const { add, uploads } = attached
  const isUploading = areUnfinished(uploads)
  const canSend = onStop === null && !isUploading && (text.trim() !== "" || uploads.length + kept.length > 0)
  const onKeyDown = (event: KeyboardEvent) => {
    // While characters are being composed, Enter ends that.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (canSend) onSend()
  }
  return (
    <DropArea hint="Drop files to add them to the message" onFiles={add}>
      <form
        className="rounded-2xl border border-edge bg-surface p-2 focus-within:outline-2 focus-within:outline-accent"
        onSubmit={(event) => {
          event.preventDefault()
          if (canSend) onSend()
        }}
      >
        {onKept === undefined ? null : <KeptFiles files={kept} onFiles={onKept} />}
        <Attachments {...attached} />
        <div className="flex items-end gap-2">
          <FilePicker kind="quiet" label="Attach files" onFiles={add}>
            <Paperclip aria-hidden="true" className="size-4.5" />
          </FilePicker>
          <textarea
            aria-label={label}
            className="min-h-10 flex-1 resize-none bg-transparent px-2 py-2 outline-none placeholder:text-muted"
            maxLength={questionCharactersMax}
            onChange={({ target }) => onText(target.value)}
            onKeyDown={onKeyDown}
            onPaste={(event) => {
              const files = [...event.clipboardData.files]
              if (files.length === 0) return
              // Some programs add a picture to a text that is copied.
              if (event.clipboardData.types.includes("text/plain")) return
              event.preventDefault()
              add(files)
            }}
            placeholder="Ask something"
            ref={area}
            rows={1}
            value={text}
          />
          <SendOrStop canSend={canSend} isUploading={isUploading} onStop={onStop} />
        </div>
      </form>
    </DropArea>
  )
}

interface SendOrStopProps extends Pick<ComposerProps, "onStop"> {
  readonly canSend: boolean
  readonly isUploading: boolean
}

const SendOrStop = ({ canSend, isUploading, onStop }: SendOrStopProps) =>
  onStop === null ? (
    <Button
      aria-label="Send"
      disabled={!canSend}
      kind="primary"
      title={isUploading ? "Wait until all files are there, or remove them" : undefined}
      type="submit"
    >
      <ArrowUp aria-hidden="true" className="size-4.5" />
    </Button>
  ) : (
    <Button aria-label="Stop" onClick={onStop}>
      <Square aria-hidden="true" className="size-4" fill="currentColor" />
    </Button>
  )

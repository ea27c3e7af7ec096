import { CircleAlert, CircleCheck, RotateCw, X } from "lucide-react"
import { formatBytes } from "../../../domain/formatBytes.ts"
import { formatShare } from "../text/format.ts"
import { Button } from "../ui/Button.tsx"
import { FilePicker } from "./FilePicker.tsx"
import type { Upload } from "./UploadList.ts"
import type { Uploads } from "./useUploads.ts"

/** The text about an upload beside its name. */
export const stateOf = ({ bytes, problem, sent, status }: Upload): string => {
  switch (status) {
    case "waiting":
      return "Waiting"
    case "sending":
      return `${formatShare(bytes === 0 ? 1 : sent / bytes)} of ${formatBytes(bytes)}`
    case "reading":
      return "Sent; its text is being read"
    case "done":
      return formatBytes(bytes)
    case "failed":
      return problem ?? "It could not be uploaded."
    case "lost":
      return "Broken off when the page was left. Choose the file again to go on."
  }
}

const isUnderWay = ({ status }: Upload): boolean =>
  status === "waiting" || status === "sending" || status === "reading"

interface RowProps extends Pick<Uploads, "list"> {
  readonly upload: Upload
}

const UploadRow = ({ list, upload }: RowProps) => {
  const { bytes, id, name, sent, status } = upload
  return (
    <li className="flex items-center gap-3 px-4 py-2">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{name}</p>
        <p className="text-sm text-muted">{stateOf(upload)}</p>
        {status === "sending" ? (
          <progress
            aria-label={`Progress of ${name}`}
            className="mt-1 block h-1.5 w-full accent-accent"
            max={Math.max(1, bytes)}
            value={sent}
          />
        ) : null}
      </div>
      {status === "done" ? <CircleCheck aria-label="Done" className="size-5 text-success" /> : null}
      {status === "failed" ? <CircleAlert aria-hidden="true" className="size-5 text-danger" /> : null}
      {status === "failed" && upload.canRetry ? (
        <Button aria-label={`Try ${name} again`} kind="quiet" onClick={() => list.retry(id)}>
          <RotateCw aria-hidden="true" className="size-4" />
        </Button>
      ) : null}
      <Button
        aria-label={isUnderWay(upload) ? `Cancel ${name}` : `Take ${name} off the list`}
        kind="quiet"
        onClick={() => list.remove(id)}
      >
        <X aria-hidden="true" className="size-4" />
      </Button>
    </li>
  )
}

/** The uploads of a list, with their progress; nothing where there are none. */
export const UploadRows = ({ add, list, uploads }: Uploads) =>
  uploads.length === 0 ? null : (
    <section aria-label="Uploads" className="rounded-xl border border-line bg-surface">
      <div className="flex flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-2">
        <h2 className="font-semibold">Uploads</h2>
        <div className="flex flex-wrap gap-2">
          {uploads.some(({ status }) => status === "lost") ? (
            <FilePicker onFiles={add}>Choose them again</FilePicker>
          ) : null}
          {uploads.some(({ status }) => status === "done") ? (
            <Button kind="quiet" onClick={() => list.clearDone()}>
              Clear those that are done
            </Button>
          ) : null}
        </div>
      </div>
      <ul aria-live="polite" className="divide-y divide-line">
        {uploads.map((upload) => (
          <UploadRow key={upload.id} list={list} upload={upload} />
        ))}
      </ul>
    </section>
  )

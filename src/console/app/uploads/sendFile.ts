import { Effect, Schema } from "effect"
import { FileObject } from "../../../api/FileObject.ts"
import type { FileId } from "../../../domain/Ids.ts"
import { csrfHeader } from "../../SessionApi.ts"
import { ask, askForStream } from "../client/ask.ts"
import { serviceUrl } from "../client/connection.ts"
import { RequestFailed, unreachable } from "../client/RequestFailed.ts"
import { csrfToken } from "../session/session.ts"

const okMin = 200
const okMax = 299

const tooLarge = 413

/** A proxy in front of the service refused it, whose answer is no envelope. */
const refusedBefore = () =>
  new RequestFailed(
    "The file is too large for the proxy in front of the service. Ask your administrator.",
    "file_too_large",
    ""
  )

/** A file on its way by XMLHttpRequest, because fetch says nothing of what has been sent. */
const sending = (file: File, onSent: (bytes: number) => void) =>
  Effect.callback<unknown, unknown>((resume) => {
    const request = new XMLHttpRequest()
    request.open("POST", `${serviceUrl()}/console/files`)
    request.responseType = "json"
    const token = csrfToken()
    if (token !== null) request.setRequestHeader(csrfHeader, token)
    request.upload.addEventListener("progress", ({ loaded }) => onSent(Math.min(loaded, file.size)))
    request.addEventListener("load", () => {
      const { response, status } = request
      if (status >= okMin && status <= okMax) resume(Effect.succeed(response))
      else resume(Effect.fail(status === tooLarge && response === null ? refusedBefore() : response))
    })
    request.addEventListener("error", () => resume(Effect.fail(unreachable())))
    const form = new FormData()
    form.append("file", file, file.name)
    request.send(form)
    return Effect.sync(() => request.abort())
  })

/** Uploads a file; `onSent` gets the bytes that have been sent. Rejects with RequestFailed. */
export const sendFile = (
  file: File,
  onSent: (bytes: number) => void,
  signal: AbortSignal
): Promise<FileObject> =>
  askForStream(() => Effect.flatMap(sending(file, onSent), Schema.decodeUnknownEffect(FileObject)), signal)

/** Interval at which a file whose text is being read is requested, and the number of times. */
const readingMillis = 1_000
const readingsMax = 600

/** The file once its text has been read, or could not be. */
export const readFile = async (file: FileObject, signal: AbortSignal): Promise<FileObject> => {
  let latest = file
  for (let asked = 0; latest.status === "uploaded" && asked < readingsMax; asked++) {
    await new Promise((resolve) => {
      setTimeout(resolve, readingMillis)
    })
    signal.throwIfAborted()
    latest = await ask((client) => client.ownFiles.get({ params: { file_id: file.id } }), signal)
  }
  if (latest.status === "uploaded") {
    throw new RequestFailed(
      "The text of the file is still being read. Try again in some minutes.",
      "file_not_ready",
      ""
    )
  }
  return latest
}

export const deleteFile = (id: FileId) => ask((client) => client.ownFiles.delete({ params: { file_id: id } }))

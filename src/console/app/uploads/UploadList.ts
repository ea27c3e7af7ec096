import type { FileObject } from "../../../api/FileObject.ts"
import { requestFailed } from "../client/RequestFailed.ts"
import { type KeptUpload, keepUploads, keptUploads } from "./keptUploads.ts"
import { readFile, sendFile } from "./sendFile.ts"

/** Files of one list that are sent at once, and files in a list. */
const sentAtOnceMax = 2
export const uploadsMax = 200

/** A file on its way. */
export interface Upload extends Omit<KeptUpload, "isDone"> {
  readonly id: number
  /** Bytes that have been sent. */
  readonly sent: number
  /**
   * `lost` was being sent when the page was loaded again: the browser forgets a file then, which has to be
   * chosen again.
   */
  readonly status: "waiting" | "sending" | "reading" | "done" | "failed" | "lost"
}

/** The step after a file has been uploaded and read, such as adding it to a project. */
export type Finish = (file: FileObject) => Promise<unknown>

interface ListOptions {
  readonly finish: Finish
  /**
   * True if finished uploads stay when the page is loaded again, such as those of a message that isn't sent
   * yet.
   */
  readonly keepsDone: boolean
}

const images = /^image\/(png|jpeg|gif|webp)$/

/** The file as it is, which no further try changes. */
class Unreadable extends Error {}

/** Final refusals of the service: the file is too large, or of no use to it. */
const refusals: ReadonlySet<string> = new Set(["file_too_large", "invalid_upload", "invalid_request"])

/** The status from which an upload goes on when the page was loaded again. */
const statusOf = ({ canRetry, file, isDone, problem }: KeptUpload): Upload["status"] => {
  if (isDone) return "done"
  if (problem !== null && (!canRetry || file !== null)) return "failed"
  return file === null ? "lost" : "waiting"
}

/** Files that are uploaded one after the other. A list goes on while its user is on other pages. */
export class UploadList {
  private uploads: ReadonlyArray<Upload> = []
  private readonly sources = new Map<number, File>()
  private readonly controllers = new Map<number, AbortController>()
  private readonly listeners = new Set<() => void>()
  private next = 1
  private readonly name: string
  private readonly options: ListOptions

  constructor(name: string, options: ListOptions) {
    this.name = name
    this.options = options
    this.uploads = keptUploads(name).map((kept) => this.entry(kept, statusOf(kept)))
    this.workOn()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): ReadonlyArray<Upload> => this.uploads

  /** Takes files, one that was lost in its place; answers how many were left out because the list is full. */
  add(files: ReadonlyArray<File>): number {
    let leftOut = 0
    for (const file of files) {
      const lost = this.uploads.find(
        ({ bytes, name, status }) => status === "lost" && name === file.name && bytes === file.size
      )
      if (lost === undefined && this.uploads.length >= uploadsMax) {
        leftOut++
        continue
      }
      const about = { name: file.name, bytes: file.size, isImage: images.test(file.type), file: null }
      const entry = this.entry({ ...about, problem: null, canRetry: true }, "waiting")
      this.sources.set(entry.id, file)
      this.show([...this.uploads.filter((upload) => upload !== lost), entry])
    }
    this.workOn()
    return leftOut
  }

  /** Ends it if it is on its way, and takes it off the list; a stored file stays. */
  remove(id: number): void {
    this.controllers.get(id)?.abort()
    this.sources.delete(id)
    this.show(this.uploads.filter((upload) => upload.id !== id))
    this.workOn()
  }

  retry(id: number): void {
    this.change(id, { status: "waiting", sent: 0, problem: null })
    this.workOn()
  }

  /** Takes those off the list that are done. */
  clearDone(): void {
    this.show(this.uploads.filter(({ status }) => status !== "done"))
  }

  private entry(about: Omit<KeptUpload, "isDone">, status: Upload["status"]): Upload {
    return { ...about, id: this.next++, sent: 0, status }
  }

  private show(uploads: ReadonlyArray<Upload>): void {
    this.uploads = uploads
    const kept = uploads.map((upload) => ({ ...upload, isDone: upload.status === "done" }))
    keepUploads(
      this.name,
      kept.filter(({ isDone }) => this.options.keepsDone || !isDone)
    )
    this.tell()
  }

  private tell(): void {
    for (const listener of this.listeners) listener()
  }

  private with(id: number, changed: Partial<Upload>): ReadonlyArray<Upload> {
    return this.uploads.map((upload) => (upload.id === id ? { ...upload, ...changed } : upload))
  }

  private change(id: number, changed: Partial<Upload>): void {
    this.show(this.with(id, changed))
  }

  /** Progress, which is not kept. */
  private progress(id: number, sent: number): void {
    this.uploads = this.with(id, { sent })
    this.tell()
  }

  private workOn(): void {
    const free = sentAtOnceMax - this.uploads.filter(({ status }) => status === "sending").length
    const waiting = this.uploads.filter(({ status }) => status === "waiting")
    for (const upload of waiting.slice(0, Math.max(0, free))) void this.upload(upload)
  }

  private async upload(upload: Upload): Promise<void> {
    const { bytes, id, isImage } = upload
    const controller = new AbortController()
    const { signal } = controller
    this.controllers.set(id, controller)
    this.change(id, { status: "sending" })
    try {
      const sent = upload.file ?? (await this.send(id, signal))
      this.change(id, { status: "reading", sent: bytes, file: sent })
      this.workOn()
      const file = isImage ? sent : await readFile(sent, signal)
      if (file.status === "error" && !isImage)
        throw new Unreadable(file.status_details ?? "The file can't be read.")
      await this.options.finish(file)
      this.change(id, { status: "done", file })
      this.sources.delete(id)
    } catch (failure) {
      const canRetry = !(failure instanceof Unreadable || refusals.has(requestFailed(failure).code))
      if (!signal.aborted) this.change(id, { status: "failed", problem: problemOf(failure), canRetry })
    } finally {
      this.controllers.delete(id)
      this.workOn()
    }
  }

  private send(id: number, signal: AbortSignal): Promise<FileObject> {
    const source = this.sources.get(id)
    if (source === undefined) throw new Error("Choose the file again.")
    return sendFile(source, (sent) => this.progress(id, sent), signal)
  }
}

const problemOf = (failure: unknown): string =>
  failure instanceof Unreadable ? failure.message : requestFailed(failure).message

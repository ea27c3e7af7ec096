import { type ReactNode, useEffect, useEffectEvent, useState } from "react"
import { classes } from "../ui/classes.ts"
import { showToast } from "../ui/toasts.ts"

/** Without directories, which a browser gives as files that can't be read. */
const filesIn = ({ items }: DataTransfer): ReadonlyArray<File> => {
  const dropped = [...items].filter(({ kind }) => kind === "file")
  const files = dropped.filter((item) => item.webkitGetAsEntry()?.isDirectory !== true)
  if (files.length < dropped.length) showToast("Folders can't be uploaded: open them, and drop their files.")
  return files.flatMap((item) => item.getAsFile() ?? [])
}

/** Takes files that are dropped anywhere in the window; says whether some are over it. */
const useDroppedFiles = (onFiles: (files: ReadonlyArray<File>) => void): boolean => {
  // Each element gets events of its own as the pointer goes over it.
  const [depth, setDepth] = useState(0)
  const take = useEffectEvent(onFiles)
  useEffect(() => {
    const controller = new AbortController()
    const on = (
      type: "dragenter" | "dragleave" | "dragover" | "drop",
      handle: (data: DataTransfer) => void
    ) =>
      window.addEventListener(
        type,
        (event) => {
          if (event.dataTransfer?.types.includes("Files") !== true) return
          // The file would take the place of the application.
          event.preventDefault()
          handle(event.dataTransfer)
        },
        { signal: controller.signal }
      )
    on("dragenter", () => setDepth((before) => before + 1))
    on("dragleave", () => setDepth((before) => Math.max(0, before - 1)))
    on("dragover", () => undefined)
    on("drop", (data) => {
      setDepth(0)
      take(filesIn(data))
    })
    return () => controller.abort()
  }, [])
  return depth > 0
}

interface DropAreaProps {
  readonly onFiles: (files: ReadonlyArray<File>) => void
  /** The text over the area while files are dragged over the window. */
  readonly hint: string
  readonly className?: string
  readonly children: ReactNode
}

/** Takes files that are dropped on its page; a page has one such area. */
export const DropArea = ({ children, className, hint, onFiles }: DropAreaProps) => {
  const isOver = useDroppedFiles(onFiles)
  return (
    <div className={classes("relative", className)}>
      {children}
      {isOver ? (
        <div className="pointer-events-none absolute inset-0 z-10 grid place-items-center rounded-2xl border-2 border-dashed border-accent bg-surface p-4 text-center font-medium">
          {hint}
        </div>
      ) : null}
    </div>
  )
}

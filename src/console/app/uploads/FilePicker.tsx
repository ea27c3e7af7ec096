import { type ReactNode, useRef } from "react"
import { Button } from "../ui/Button.tsx"

interface FilePickerProps {
  readonly onFiles: (files: ReadonlyArray<File>) => void
  readonly kind?: "primary" | "secondary" | "quiet"
  readonly label?: string
  readonly children: ReactNode
}

/** A button that lets files be chosen, several at once. */
export const FilePicker = ({ children, kind = "secondary", label, onFiles }: FilePickerProps) => {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        aria-label={label ?? "Files"}
        className="hidden"
        multiple
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])])
          // The same file can be chosen again.
          target.value = ""
        }}
        ref={input}
        tabIndex={-1}
        type="file"
      />
      <Button
        kind={kind}
        onClick={() => input.current?.click()}
        {...(label === undefined ? {} : { "aria-label": label })}
      >
        {children}
      </Button>
    </>
  )
}

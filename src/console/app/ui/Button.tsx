import type { ComponentProps } from "react"
import { classes } from "./classes.ts"
import { Spinner } from "./Spinner.tsx"

type ButtonKind = "primary" | "secondary" | "quiet" | "danger"

const kinds: Readonly<Record<ButtonKind, string>> = {
  primary: "bg-accent text-on-accent hover:bg-accent-strong border-transparent",
  secondary: "bg-surface text-ink border-edge hover:bg-sunken",
  quiet: "bg-transparent text-ink border-transparent hover:bg-sunken",
  danger: "bg-danger text-on-danger hover:bg-danger-strong border-transparent"
}

/** The classes of a link that looks like a button. */
export const buttonClass = (kind: ButtonKind, className?: string): string =>
  classes(
    "inline-flex min-h-10 items-center justify-center gap-2 rounded-lg border px-4 py-1.5 text-sm font-medium transition-colors",
    "disabled:opacity-60 disabled:hover:bg-none",
    kinds[kind],
    className
  )

interface ButtonProps extends ComponentProps<"button"> {
  readonly kind?: ButtonKind
  /** True while its action is under way: it shows that, and can't be pressed again. */
  readonly isPending?: boolean
}

export const Button = ({
  children,
  className,
  disabled,
  isPending = false,
  kind = "secondary",
  type = "button",
  ...rest
}: ButtonProps) => (
  <button
    {...rest}
    aria-busy={isPending || undefined}
    className={buttonClass(kind, className)}
    disabled={disabled === true || isPending}
    type={type}
  >
    {isPending ? <Spinner /> : null}
    {children}
  </button>
)

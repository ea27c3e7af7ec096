import { Spinner } from "./Spinner.tsx"

export const Loading = ({ label = "Loading…" }: { readonly label?: string }) => (
  <div className="flex items-center gap-3 py-8 text-muted" role="status">
    <Spinner />
    {label}
  </div>
)

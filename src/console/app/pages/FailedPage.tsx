import { type ErrorComponentProps, useRouter } from "@tanstack/react-router"
import { ErrorState } from "../ui/ErrorState.tsx"
import { Page } from "../ui/Page.tsx"

/** In place of a page that could not be loaded. */
export const FailedPage = ({ error, reset }: ErrorComponentProps) => {
  const router = useRouter()
  const onRetry = () => {
    reset()
    void router.invalidate()
  }
  return (
    <div className="mx-auto max-w-lg px-4 py-16">
      <Page title="This page could not be loaded">
        <ErrorState failure={error} onRetry={onRetry} />
      </Page>
    </div>
  )
}

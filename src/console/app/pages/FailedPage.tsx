import type { ErrorComponentProps } from "@tanstack/react-router"
import { ErrorState } from "../ui/ErrorState.tsx"
import { Page } from "../ui/Page.tsx"

/**
 * A browser doesn't ask again for a part whose import failed until the page is loaded anew, which shows
 * nothing while the service is away.
 */
const reloadOnceReachable = async () => {
  const isReachable = await fetch(document.baseURI).then(
    () => true,
    () => false
  )
  if (isReachable) location.reload()
}

/** In place of a page that could not be loaded. */
export const FailedPage = ({ error }: ErrorComponentProps) => (
  <div className="mx-auto max-w-lg px-4 py-16">
    <Page title="This page could not be loaded">
      <ErrorState failure={error} onRetry={() => void reloadOnceReachable()} />
    </Page>
  </div>
)

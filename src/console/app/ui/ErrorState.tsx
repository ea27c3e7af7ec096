import { requestFailed } from "../client/RequestFailed.ts"
import { Alert } from "./Alert.tsx"
import { Button } from "./Button.tsx"

interface ErrorStateProps {
  readonly failure: unknown
  readonly onRetry?: () => void
}

/** In place of what could not be loaded. */
export const ErrorState = ({ failure, onRetry }: ErrorStateProps) => (
  <Alert tone="danger">
    <p>{requestFailed(failure).message}</p>
    {onRetry === undefined ? null : (
      <Button className="mt-3" onClick={onRetry}>
        Try again
      </Button>
    )}
  </Alert>
)

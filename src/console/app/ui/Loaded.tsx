import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { ErrorState } from "./ErrorState.tsx"
import { Loading } from "./Loading.tsx"

interface LoadedProps<Data> {
  readonly query: UseQueryResult<Data>
  readonly label?: string
  readonly children: (data: Data) => ReactNode
}

/**
 * Shows the answer of a query; until then, that it is loading, or why it failed. Earlier data stays when a
 * reload fails.
 */
export const Loaded = <Data,>({ children, label, query }: LoadedProps<Data>) => {
  const { data, error, refetch } = query
  return (
    <>
      {error === null ? null : <ErrorState failure={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null ? (
          <Loading {...(label === undefined ? {} : { label })} />
        ) : null
      ) : (
        children(data)
      )}
    </>
  )
}

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
 * What a query answered; until then, that it is loading, or why it failed. What was loaded before stays when
 * a reload fails.
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

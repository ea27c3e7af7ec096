import { queryOptions, useSuspenseQuery } from "@tanstack/react-query"
import { HttpApiClient } from "effect/http-api"
import { type PagePath, pagePaths } from "../../PagePaths.ts"
import { SessionApi, SessionState, SignedInUser } from "../../SessionApi.ts"
import { clientOptions, connected, run, serviceUrl } from "../client/connection.ts"
import { queries } from "../client/queries.ts"
import { makeReauthentication } from "./reauthentication.ts"

export type Session = typeof SessionState.Type
export type User = typeof SignedInUser.Type

const key = ["session"]

/**
 * The token that proves to the service that a request comes from this application; null without a session.
 */
export const csrfToken = (): string | null => queries.getQueryData<Session>(key)?.csrf_token ?? null

/** The client of those who are not signed in. The first view has no other. */
const { session: client } = connected(HttpApiClient.make(SessionApi, clientOptions(csrfToken)))

export const sessionQuery = queryOptions({
  queryKey: key,
  queryFn: ({ signal }) => run(client.state(), signal),
  staleTime: Infinity
})

/** Data of another user must not be shown to this one. */
const begin = (session: Session): Session => {
  const before = queries.getQueryData<Session>(key)?.user?.id
  if (before !== session.user?.id)
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] })
  queries.setQueryData<Session>(key, session)
  return session
}

export const signIn = async (credentials: { readonly email: string; readonly password: string }) =>
  begin(await run(client.signIn({ payload: credentials })))

export const signOut = async () => {
  const ended = await run(client.signOut())
  // The typed texts of this tab, and the names of uploads.
  sessionStorage.clear()
  return ended
}

/** The key of the query of a link, which stays when its user is signed in. */
export const linkKey = (token: string) => [...key, "link", token]

export const openLink = (token: string) => run(client.openLink({ payload: { token } }))

export const spendLink = async (payload: {
  readonly token: string
  readonly email?: string
  readonly password: string
}) => begin(await run(client.useLink({ payload })))

/** A session as an endpoint of another group returned it, such as after a change of the password. */
export const replaceSession = (session: Session): void => {
  queries.setQueryData<Session>(key, session)
}

/** Starts the application anew, so that nothing of the user stays in memory. */
const startAnew = (path: PagePath): void => location.assign(serviceUrl() + path)

/** To the sign-in page, once the user's session has ended. */
export const leave = (): void => startAnew(pagePaths.signIn)

export const reauthentication = makeReauthentication()

/** Waits for the user to sign in again over the page; false: another page was chosen. */
export const signInAgain = (): Promise<boolean> => reauthentication.wait()

/**
 * True if the user has a session again, as after signing in in another tab. If another user has one, the
 * application starts anew.
 */
export const findSession = async (): Promise<boolean> => {
  const before = queries.getQueryData<Session>(key)?.user?.id
  const session = await run(client.state())
  if (session.user === null) return false
  if (session.user.id === before) begin(session)
  else startAnew(pagePaths.home)
  return session.user.id === before
}

/** Reads the session, with its CSRF token, again; asks the user to sign in where there is none. */
export const readSessionAgain = async (): Promise<boolean> => (await findSession()) || signInAgain()

/** The user of the page; only for pages that need a session. */
export const useUser = (): User => {
  const { user } = useSuspenseQuery(sessionQuery).data
  if (user === null) throw new Error("This page needs a session.")
  return user
}

import { useQuery } from "@tanstack/react-query"
import { Link, useLocation, useNavigate } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { pagePaths } from "../../../PagePaths.ts"
import { linkKey, openLink } from "../../session/session.ts"
import { Alert } from "../../ui/Alert.tsx"
import { buttonClass } from "../../ui/Button.tsx"
import { ErrorState } from "../../ui/ErrorState.tsx"
import { Loading } from "../../ui/Loading.tsx"
import { EntryFrame } from "./EntryFrame.tsx"
import { LinkForm } from "./LinkForm.tsx"

const titles = {
  set_up: "Set up Parley",
  invitation: "Accept your invitation",
  password_reset: "Choose a new password"
}

/** The token of the address, which is then removed from the address bar and from the history. */
const useToken = (): string => {
  const { hash } = useLocation()
  const navigate = useNavigate()
  const [token, setToken] = useState(hash)
  if (hash !== "" && hash !== token) setToken(hash)
  useEffect(() => {
    if (hash !== "") void navigate({ to: pagePaths.link, hash: "", replace: true })
  }, [hash, navigate])
  return token
}

const ToSignIn = () => (
  <Link className={buttonClass("secondary", "mt-6 w-full")} search={{}} to={pagePaths.signIn}>
    To the sign-in page
  </Link>
)

const TokenMissing = () => (
  <EntryFrame title="Link">
    <Alert tone="warning">
      This address lacks the secret part of the link. Open the link again from where you got it.
    </Alert>
    <ToSignIn />
  </EntryFrame>
)

/** The link of a set-up, an invitation or a new password. */
const OpenedLink = ({ token }: { readonly token: string }) => {
  const { data, error, refetch } = useQuery({
    queryKey: linkKey(token),
    queryFn: () => openLink(token),
    gcTime: 0,
    staleTime: Infinity
  })
  if (data !== undefined) {
    return (
      <EntryFrame title={titles[data.kind]}>
        <LinkForm link={data} token={token} />
      </EntryFrame>
    )
  }
  return (
    <EntryFrame title="Link">
      {error === null ? (
        <Loading label="Checking the link…" />
      ) : (
        <>
          <ErrorState failure={error} onRetry={() => void refetch()} />
          <ToSignIn />
        </>
      )}
    </EntryFrame>
  )
}

export const LinkPage = () => {
  const token = useToken()
  return token === "" ? <TokenMissing /> : <OpenedLink key={token} token={token} />
}

import { Link } from "@tanstack/react-router"
import { useUser } from "../session/session.ts"
import { areasFor } from "./navigation.ts"

/** The links to the pages of the user. */
export const Navigation = ({ onChosen }: { readonly onChosen?: () => void }) => {
  const { role } = useUser()
  return (
    <nav aria-label="Main" className="space-y-6">
      {areasFor(role).map(({ entries, heading }) => (
        <div key={heading ?? "start"}>
          {heading === null ? null : (
            <p className="mb-1 px-3 text-xs font-semibold tracking-wide text-muted uppercase">{heading}</p>
          )}
          <ul>
            {entries.map(({ icon: Icon, label, path }) => (
              <li key={path}>
                <Link
                  activeOptions={{ exact: path === "/" }}
                  activeProps={{ className: "bg-accent-soft font-medium text-ink" }}
                  className="flex min-h-10 items-center gap-3 rounded-lg px-3 text-sm hover:bg-sunken"
                  inactiveProps={{ className: "text-muted" }}
                  to={path}
                  {...(onChosen === undefined ? {} : { onClick: onChosen })}
                >
                  <Icon aria-hidden="true" className="size-4.5 shrink-0" />
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

import { Link } from "@tanstack/react-router"
import { pagePaths } from "../../PagePaths.ts"
import { buttonClass } from "../ui/Button.tsx"
import { Page } from "../ui/Page.tsx"

export const NotFoundPage = () => (
  <div className="mx-auto max-w-lg px-4 py-16">
    <Page description="There is no such page, or it isn't for your role." title="Page not found">
      <Link className={buttonClass("primary")} to={pagePaths.home}>
        To the first page
      </Link>
    </Page>
  </div>
)

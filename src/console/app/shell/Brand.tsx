import iconUrl from "../icon.svg"

/** The name of the product. */
export const Brand = () => (
  <span className="inline-flex items-center gap-2.5 text-lg font-semibold tracking-tight">
    <img alt="" className="size-7" src={iconUrl} />
    Parley
  </span>
)

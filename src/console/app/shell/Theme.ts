export const themes = ["system", "light", "dark"] as const
export type Theme = (typeof themes)[number]

const storageKey = "parley-theme"

/**
 * The theme that was chosen on this device; without a choice, or where nothing may be stored, the system
 * decides.
 */
export const savedTheme = (): Theme => {
  try {
    return themes.find((theme) => theme === localStorage.getItem(storageKey)) ?? "system"
  } catch {
    return "system"
  }
}

export const applyTheme = (theme: Theme): void => {
  if (theme === "system") delete document.documentElement.dataset["theme"]
  else document.documentElement.dataset["theme"] = theme
}

export const saveTheme = (theme: Theme): void => {
  applyTheme(theme)
  try {
    localStorage.setItem(storageKey, theme)
  } catch {
    // It then holds until the page is loaded again.
  }
}

import { Monitor, Moon, Sun } from "lucide-react"
import { useState } from "react"
import { saveTheme, savedTheme, type Theme, themes } from "./Theme.ts"

const icons = { system: Monitor, light: Sun, dark: Moon }
const labels = { system: "As the system", light: "Light", dark: "Dark" }

/** Chooses the colors on this device. */
export const ThemeSwitch = () => {
  const [theme, setTheme] = useState<Theme>(savedTheme)
  const choose = (chosen: Theme) => {
    saveTheme(chosen)
    setTheme(chosen)
  }
  return (
    <fieldset className="inline-flex rounded-lg border border-line bg-sunken p-0.5">
      <legend className="sr-only">Colors</legend>
      {themes.map((one) => {
        const Icon = icons[one]
        return (
          <label
            className="relative flex size-8 cursor-pointer items-center justify-center rounded-md text-muted has-checked:bg-surface has-checked:text-ink has-checked:shadow-xs has-focus-visible:outline-2 has-focus-visible:outline-accent"
            key={one}
            title={labels[one]}
          >
            <input
              checked={theme === one}
              className="absolute inset-0 cursor-pointer opacity-0"
              name="theme"
              onChange={() => choose(one)}
              type="radio"
              value={one}
            />
            <Icon aria-hidden="true" className="size-4" />
            <span className="sr-only">{labels[one]}</span>
          </label>
        )
      })}
    </fieldset>
  )
}

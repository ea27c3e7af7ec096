import { useEffect, useRef } from "react"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import { formatCompact, formatDay, formatNumber } from "../../text/format.ts"
import type { DayTotal } from "./report.ts"

const heightPixels = 260
const barShare = 0.7
const barPixelsMax = 48
const axisPixels = 52

interface UsageChartProps {
  readonly days: ReadonlyArray<DayTotal>
  /** Tokens of a day; null: no limit. */
  readonly dailyLimit: number | null
}

/**
 * The drawing area can't use the variables of the stylesheet, so their values are read from elements that
 * have them.
 */
const colorOf = (area: HTMLElement, className: string): string => {
  const probe = document.createElement("span")
  probe.className = className
  area.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const bars = uPlot.paths.bars?.({ size: [barShare, barPixelsMax] })

const seriesOf = (label: string, fill: string): uPlot.Series => ({
  label,
  fill,
  width: 0,
  points: { show: false },
  ...(bars === undefined ? {} : { paths: bars })
})

/** The limit is drawn only where it doesn't make the bars too small to see. */
const limitShareMax = 4

const optionsOf = (area: HTMLElement, { dailyLimit, days }: UsageChartProps): uPlot.Options => {
  const muted = colorOf(area, "text-muted")
  const line = colorOf(area, "text-line")
  const most = Math.max(0, ...days.map((day) => day.inputTokens + day.outputTokens))
  const shownLimit = dailyLimit !== null && dailyLimit <= most * limitShareMax ? dailyLimit : null
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  return {
    width: area.clientWidth,
    height: heightPixels,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [-0.5, days.length - 0.5] },
      y: { range: [0, Math.max(10, most * 1.1, shownLimit === null ? 0 : shownLimit * 1.05)] }
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        incrs: [1, 2, 5, 10, 20, 50, 100],
        values: (_, marks) =>
          marks.map((mark) => {
            const day = days[mark]
            return day === undefined ? "" : formatDay(day.day)
          })
      },
      { ...axis, size: axisPixels, values: (_, marks) => marks.map(formatCompact) }
    ],
    series: [
      {},
      seriesOf("Output", colorOf(area, "text-success")),
      seriesOf("Input", colorOf(area, "text-accent")),
      ...(shownLimit === null
        ? []
        : [{ label: "Daily limit", stroke: colorOf(area, "text-danger"), width: 1.5, dash: [6, 4] }])
    ]
  }
}

/** Bars drawn over one another: those of all tokens first, and those of the input tokens over them. */
const dataOf = ({ dailyLimit, days }: UsageChartProps, seriesCount: number): uPlot.AlignedData => [
  days.map((_, index) => index),
  days.map((day) => day.inputTokens + day.outputTokens),
  days.map((day) => day.inputTokens),
  ...(seriesCount > 3 ? [days.map(() => dailyLimit)] : [])
]

const Legend = ({ hasLimit }: { readonly hasLimit: boolean }) => (
  <ul aria-hidden="true" className="mt-3 flex flex-wrap gap-x-5 gap-y-1 text-sm text-muted">
    <li className="flex items-center gap-2">
      <span className="size-3 rounded-sm bg-accent" /> Input tokens
    </li>
    <li className="flex items-center gap-2">
      <span className="size-3 rounded-sm bg-success" /> Output tokens
    </li>
    {hasLimit ? (
      <li className="flex items-center gap-2">
        <span className="w-4 border-t-2 border-dashed border-danger" /> Daily limit, where it fits
      </li>
    ) : null}
  </ul>
)

const summaryOf = (days: ReadonlyArray<DayTotal>): string => {
  const total = days.reduce((sum, day) => sum + day.inputTokens + day.outputTokens, 0)
  return `${formatNumber(total)} tokens in ${days.length} days. The table below has the numbers of each day.`
}

/** Tokens by day. The table below it says the same in words. */
export const UsageChart = ({ dailyLimit, days }: UsageChartProps) => {
  const area = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = area.current
    if (element === null) return
    const draw = () => {
      const options = optionsOf(element, { dailyLimit, days })
      return new uPlot(options, dataOf({ dailyLimit, days }, options.series.length), element)
    }
    let chart = draw()
    const redraw = () => {
      chart.destroy()
      chart = draw()
    }
    const resized = new ResizeObserver(() => {
      if (chart.width !== element.clientWidth)
        chart.setSize({ width: element.clientWidth, height: heightPixels })
    })
    resized.observe(element)
    // The colors follow the theme, which the user or the system may change.
    const themed = new MutationObserver(redraw)
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    const preference = matchMedia("(prefers-color-scheme: dark)")
    preference.addEventListener("change", redraw)
    return () => {
      preference.removeEventListener("change", redraw)
      themed.disconnect()
      resized.disconnect()
      chart.destroy()
    }
  }, [dailyLimit, days])
  return (
    <div>
      {/* The drawing gets its new width after the window: until then it must not widen the page. */}
      <div aria-label={summaryOf(days)} className="min-h-65 overflow-hidden" ref={area} role="img" />
      <Legend hasLimit={dailyLimit !== null} />
    </div>
  )
}

import { type Quantity } from "./Quantity.ts"

/** Significant digits that are shown of a number, unless it is an exact one whose whole part is longer. */
const shownDigits = 34
/** Decimal places that are shown of an exact number even if its whole part takes all those digits. */
const shownPlaces = 10
/** Numbers closer to zero than 1e-20 are written as 1.5e-21. */
const plainExponentMin = -20

/**
 * A number as text: no thousands separators, no zeros at the end, 34 significant digits; all digits of the whole part of
 * an exact one, and ten behind the point. A power of ten (1.5e40) where the plain number would end or begin in a long row of zeros.
 */
export const numberText = ({ isExact, value }: Quantity): string => {
  if (value.isZero()) return "0"
  const digits = isExact ? Math.max(shownDigits, value.e + 1 + shownPlaces) : shownDigits
  const shown = value.toSignificantDigits(digits)
  const isLong = shown.e >= shownDigits && shown.sd() <= shownDigits
  return isLong || shown.e < plainExponentMin ? shown.toExponential().replace("e+", "e") : shown.toFixed()
}

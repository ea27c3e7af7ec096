import { useEffect, useState } from "react"

const settleMilliseconds = 250

/** The value once it has stayed the same for a moment. */
export const useSettled = <Value>(value: Value): Value => {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), settleMilliseconds)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

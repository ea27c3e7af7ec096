export type BinaryOperator = "+" | "-" | "*" | "/" | "mod" | "^" | "=" | "!=" | "<" | "<=" | ">" | ">="

/** An expression as a tree. `at` is where its operator or its name stands, counted from 0. */
export type Syntax =
  | { readonly kind: "number"; readonly at: number; readonly digits: string }
  | { readonly kind: "constant"; readonly at: number; readonly name: string }
  | { readonly kind: "group"; readonly at: number; readonly inner: Syntax }
  | {
      readonly kind: "prefix"
      readonly at: number
      readonly operator: "-" | "√" | "∛"
      readonly inner: Syntax
    }
  | {
      readonly kind: "postfix"
      readonly at: number
      readonly operator: "!" | "%" | "deg"
      readonly inner: Syntax
    }
  | {
      readonly kind: "binary"
      readonly at: number
      readonly operator: BinaryOperator
      readonly left: Syntax
      readonly right: Syntax
    }
  | {
      readonly kind: "call"
      readonly at: number
      readonly name: string
      readonly args: ReadonlyArray<Syntax>
    }

/**
 * Whether it is written as a percentage, so that adding it to a number means adding that share of the number. Parentheses
 * make it a number like any other, and percentages add up among themselves: 10% + 5% is 15%.
 */
export const isPercentage = (syntax: Syntax): boolean => {
  switch (syntax.kind) {
    case "postfix":
      return syntax.operator === "%"
    case "prefix":
      return syntax.operator === "-" && isPercentage(syntax.inner)
    case "binary":
      return isSum(syntax.operator) && isPercentage(syntax.left) && isPercentage(syntax.right)
    default:
      return false
  }
}

const isSum = (operator: BinaryOperator): boolean => operator === "+" || operator === "-"

import type { Question } from "../../../../AnswersApi.ts"

/** Questions of conversations that were just created, to be asked when their page opens. */
const questions = new Map<string, Question>()

export const keepFirstQuestion = (id: string, question: Question): void => {
  questions.set(id, question)
}

export const takeFirstQuestion = (id: string): Question | null => {
  const question = questions.get(id) ?? null
  questions.delete(id)
  return question
}

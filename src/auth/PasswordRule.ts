import { passwordCharacters } from "../domain/Account.ts"

/**
 * What a new password must be. Source: NIST SP 800-63B-4, section 3.1.1.2: length and a blocklist, but no classes of
 * characters.
 */

/** Of the most common passwords, those that are long enough, in small letters. */
const common = new Set([
  "000000000000",
  "111111111111",
  "123123123123",
  "123456123456",
  "1234567890123",
  "123456789012",
  "12345678901234567890",
  "1234567891011",
  "1q2w3e4r5t6y",
  "1qaz2wsx3edc",
  "1qaz2wsx3edc4rfv",
  "abcdefghijkl",
  "abcdefghijklmnopqrstuvwxyz",
  "administrator",
  "asdfghjkl123",
  "asdfghjklqwertyuiop",
  "changemechangeme",
  "changeme1234",
  "correct horse battery staple",
  "correcthorsebatterystaple",
  "iloveyouiloveyou",
  "letmeinletmein",
  "mypassword123",
  "p@ssw0rd1234",
  "passw0rd1234",
  "passwordpassword",
  "password1234",
  "password12345",
  "password123456",
  "password@123",
  "password!123",
  "q1w2e3r4t5y6",
  "qwerty123456",
  "qwertyqwerty",
  "qwertyuiop12",
  "qwertyuiop123",
  "qwertyuiopasdfghjkl",
  "qwertyuiopasdfghjklzxcvbnm",
  "welcome12345",
  "welcomewelcome",
  "zaq12wsxcde3",
  "zxcvbnm12345"
])

/** The fewest different characters. */
const differentMin = 5

/** What is wrong with a new password, and what to do; null if it may be used. */
export const problemOfPassword = (password: string, email: string): string | null => {
  const characters = [...password.normalize("NFKC")]
  if (characters.length < passwordCharacters.min) {
    return `The password must have at least ${passwordCharacters.min} characters. A few words in a row are easy to remember.`
  }
  if (characters.length > passwordCharacters.max) {
    return `The password must have at most ${passwordCharacters.max} characters. Choose a shorter one.`
  }
  const small = password.toLowerCase()
  if (small.trim() === email.toLowerCase()) {
    return "The password must not be the e-mail address. Choose another one."
  }
  if (common.has(small.trim()) || new Set(characters).size < differentMin) {
    return "This password is among the first that are tried. Choose another one, such as a few words in a row."
  }
  return null
}

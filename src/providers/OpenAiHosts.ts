/**
 * The servers of OpenAI and of Azure OpenAI, by their hosts. Other servers of the same protocols take other
 * fields.
 */

/** True if the address is one of OpenAI's own, such as `eu.api.openai.com`. */
export const isOpenAi = ({ hostname }: URL): boolean => /(^|\.)api\.openai\.com$/.test(hostname)

export const isAzure = ({ hostname }: URL): boolean => hostname.endsWith(".openai.azure.com")

/**
 * The header with the key. Azure takes a key in its own header, and tokens of its directory as other servers
 * do.
 */
export const keyHeader = (key: string | null, baseUrl: URL): Readonly<Record<string, string>> => {
  if (key === null) return {}
  return isAzure(baseUrl) ? { "api-key": key } : { authorization: `Bearer ${key}` }
}

/** A request of a panel, as an address and as a call of the SDK. */
export type ApiCall = {
  /** The complete address. */
  readonly url: string
  /** The call of the SDK's client, such as `client.market(…).snapshots({…})`. */
  readonly code: string
}

/** A curl command; it reads the key from the environment and never contains it. */
export function toCurl({ url }: ApiCall): string {
  const header = needsKey(url) ? ` -H "Authorization: Bearer $PRIORBOOK_KEY"` : ''
  return `curl --compressed${header} '${url.replaceAll("'", '%27')}'`
}

/** A complete TypeScript program. */
export function toTypeScript({ url, code }: ApiCall): string {
  const { origin } = new URL(url)
  const who = url.includes('/v3/demo/') ? 'demo: true' : 'key: process.env.PRIORBOOK_KEY!'
  return `import { createClient } from '@priorbook/sdk/client'

const client = createClient({ url: '${origin}', ${who} })
const answer = await ${code}
console.log(answer)
`
}

/** A complete Python program; it needs the package `httpx`. */
export function toPython({ url }: ApiCall): string {
  const key = needsKey(url)
  const headers = `, headers={"Authorization": f"Bearer {os.environ['PRIORBOOK_KEY']}"}`
  return `${key ? 'import os\n\n' : ''}import httpx

answer = httpx.get(${JSON.stringify(url)}${key ? headers : ''})
answer.raise_for_status()
print(answer.text)
`
}

function needsKey(url: string): boolean {
  return !/\/v3\/(demo\/|health|openapi)/.test(url)
}

/** A value as TypeScript source code. */
export function toSource(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map(toSource).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).flatMap(([name, one]) =>
      one === undefined ? [] : [`${name}: ${toSource(one)}`],
    )
    return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  }
  return String(value)
}

import { key, keepKey } from './key.ts'

const NAME = 'priorbook.start-key'
// A server that does not answer must not keep the page empty.
const PATIENCE_MS = 1500

/** True where the key in use is the one that the start of this service printed. */
export function isStartKey(): boolean {
  return key.value !== undefined && key.value === stored()
}

/**
 * Puts the key in place that the start of the service printed, in a browser on the same machine. It replaces an earlier
 * one of the same kind, because a new data folder has a new key, but never a key that the visitor entered, and it
 * does not come back after the visitor has removed it.
 */
export async function placeStartKey(): Promise<void> {
  const before = stored()
  if (!isOwnMachine() || (key.peek() !== before && before !== undefined)) return
  if (key.peek() !== undefined && before === undefined) return
  const given = await askForKey()
  if (given === undefined) return
  keepKey(given)
  store(given)
}

function isOwnMachine(): boolean {
  const { hostname } = location
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
}

async function askForKey(): Promise<string | undefined> {
  try {
    const headers = { 'X-Priorbook-Origin': location.origin }
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await fetch('/start-key', { headers, signal, cache: 'no-store' })
    if (response.status !== 200) return undefined
    const { key: text } = (await response.json()) as { readonly key?: unknown }
    return typeof text === 'string' ? text : undefined
  } catch {
    // The page shows by itself that the server is away.
    return undefined
  }
}

function stored(): string | undefined {
  try {
    return localStorage.getItem(NAME) ?? undefined
  } catch {
    return undefined
  }
}

function store(text: string): void {
  try {
    localStorage.setItem(NAME, text)
  } catch {
    // Without storage it is asked for again with the next load.
  }
}

import { existsSync, readFileSync } from 'node:fs'

/** The version of the package that a module belongs to; `unknown` where its package.json is missing. */
export function packageVersion(module: string): string {
  for (let folder = new URL('.', module); ; folder = new URL('..', folder)) {
    const file = new URL('package.json', folder)
    if (existsSync(file)) {
      const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version?: string }
      return version ?? 'unknown'
    }
    if (folder.pathname === '/') return 'unknown'
  }
}

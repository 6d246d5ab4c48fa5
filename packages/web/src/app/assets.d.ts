declare module '*.css'

interface ImportMeta {
  /** Files by pattern, each in a chunk of its own; resolved by the build. */
  glob(
    pattern: string,
    options: { readonly query: '?raw'; readonly import: 'default' },
  ): Record<string, () => Promise<string>>
}

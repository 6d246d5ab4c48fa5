import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const assets = join(import.meta.dirname, '../../packages/web/dist/assets')

it('sends at most 150 kB of compressed script', () => {
  const scripts = readdirSync(assets).filter((name) => /\.js\.(br|gz)$/.test(name))
  const sizeOf = (end: string): number =>
    scripts
      .filter((name) => name.endsWith(end))
      .reduce((sum, name) => sum + statSync(join(assets, name)).size, 0)
  console.log(`script: ${sizeOf('.br')} B with brotli, ${sizeOf('.gz')} B with gzip`)
  expect(sizeOf('.br')).toBeGreaterThan(10_000)
  expect(sizeOf('.gz')).toBeLessThan(150_000)
})

import { defineConfig } from 'vite'

// Schemas describe the interface to the service and its documents. A client uses few of them, and what builds
// them does nothing else: those that nobody uses are left out.
const treeshake = {
  manualPureFunctions: [
    'anyOf',
    'described',
    'listOf',
    'membersOf',
    'named',
    'objectOf',
    'onlyWord',
    'orNull',
    'withMembers',
    'wordOf',
  ],
}

// All files but the page have hashed names: the service lets browsers cache them forever.
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    // The page's content security policy forbids inline scripts and data: addresses for scripts.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The licences of what is bundled go with it.
    license: { fileName: 'licenses.txt' },
    rolldownOptions: { treeshake },
  },
  worker: { rolldownOptions: { treeshake } },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: { '/v3': { target: 'http://127.0.0.1:8780', ws: true } } },
})

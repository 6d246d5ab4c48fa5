import { defineConfig } from 'vite'

// Hashed names for all but the page itself: the service lets browsers keep them for ever.
export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    // The page's policy allows neither inline script nor data: addresses for script.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  server: { proxy: { '/v3': { target: 'http://127.0.0.1:8780', ws: true } } },
})

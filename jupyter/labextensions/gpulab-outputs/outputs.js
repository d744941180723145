// Breaks long lines of a cell's output between words; JupyterLab 4 breaks them anywhere.
//
// Written by hand, like gpulab-alt-text: see there.

(globalThis._JUPYTERLAB ??= {})["gpulab-outputs"] = (() => {
  const style = ".jp-RenderedText pre { word-break: normal; overflow-wrap: anywhere; }";

  const plugin = {
    id: "gpulab-outputs:plugin",
    description: "Long lines of outputs break between words.",
    autoStart: true,
    // Last in the body: the rule has the weight of JupyterLab's own, whose styles stand in the head.
    activate: () => { document.body.append(Object.assign(document.createElement("style"), { textContent: style })); },
  };

  return { init: () => {}, get: async () => () => plugin };
})();

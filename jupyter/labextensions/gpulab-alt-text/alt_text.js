// Puts the alternative text that an image's metadata holds on the <img> that JupyterLab makes of it; JupyterLab 4 leaves it
// out. Rendering stays JupyterLab's own.
//
// Written by hand in the form that its builder gives to extensions (a module-federation container), so that nothing has to be
// built or installed: jupyter_lab_config.py names the folder.

(globalThis._JUPYTERLAB ??= {})["gpulab-alt-text"] = (() => {
  let shared;

  // JupyterLab's own module: it keeps one of this kind for all extensions.
  const loaded = async name => (await Object.values(shared[name])[0].get())();

  const described = factory => ({
    ...factory,
    createRenderer(options) {
      const renderer = factory.createRenderer(options);
      const renderModel = renderer.renderModel;
      renderer.renderModel = async model => {
        await renderModel.call(renderer, model);
        const alt = model.metadata[options.mimeType]?.alt;
        const image = renderer.node.querySelector("img");
        if (image && typeof alt === "string") image.alt = alt;
      };
      return renderer;
    },
  });

  const plugin = registryToken => ({
    id: "gpulab-alt-text:plugin",
    description: "Images in outputs get the alternative text that their metadata holds.",
    autoStart: true,
    requires: [registryToken],
    activate: (app, registry) => {
      const images = registry.mimeTypes.filter(type => type.startsWith("image/"));
      for (const factory of new Set(images.map(type => registry.getFactory(type)))) registry.addFactory(described(factory));
    },
  });

  return {
    init: scope => { shared = scope; },
    get: async () => {
      const { IRenderMimeRegistry } = await loaded("@jupyterlab/rendermime");
      return () => plugin(IRenderMimeRegistry);
    },
  };
})();

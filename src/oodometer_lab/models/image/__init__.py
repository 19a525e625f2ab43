"""Image: classifiers of images, a compact ResNet trained here and any pretrained one."""
